"""ART's white-box attribute inference on a tree, in an environment of its own: art.py INSTANCE.npz RESULT.json.

Benchmarks/peers.py runs it; it imports nothing of this project. One attribute of people is guessed from the others, the
class that the tree predicts for them, and the tree.
"""

import json
import sys
import time

import numpy as np
from art.attacks.inference.attribute_inference import (
    AttributeInferenceBaseline,
    AttributeInferenceWhiteBoxDecisionTree,
    AttributeInferenceWhiteBoxLifestyleDecisionTree,
)
from art.estimators.classification.scikitlearn import ScikitlearnDecisionTreeClassifier
from sklearn.tree import DecisionTreeClassifier

WHITE_BOX = {"white_box": AttributeInferenceWhiteBoxDecisionTree}
WHITE_BOX["lifestyle"] = AttributeInferenceWhiteBoxLifestyleDecisionTree


def main(instance: str, result: str) -> None:
    with np.load(instance) as data:
        x, y, x_test, depth, attribute, people = (
            data[name] for name in ("x", "y", "x_test", "depth", "attribute", "people")
        )
    feature, n = int(attribute), int(people)
    model = DecisionTreeClassifier(max_depth=int(depth), random_state=0).fit(x, y)
    target = ScikitlearnDecisionTreeClassifier(model)
    values, counts = np.unique(x[:, feature], return_counts=True)
    about = {"values": values.tolist(), "priors": (counts / counts.sum()).tolist()}
    members, others = x[:n], x_test[:n]
    found = {"leaves": sorted(model.tree_.n_node_samples[model.tree_.children_left < 0].tolist())}
    found["majority"] = {"members": float((members[:, feature] == values[counts.argmax()]).mean())}
    found["majority"]["others"] = float((others[:, feature] == values[counts.argmax()]).mean())
    wall, cpu = time.perf_counter(), time.process_time()
    for name, attack in WHITE_BOX.items():
        found[name] = {}
        for group, rows in (("members", members), ("others", others)):
            known = np.delete(rows, feature, axis=1)
            predicted = target.predict(rows).argmax(axis=1)
            guessed = attack(target, attack_feature=feature).infer(known, predicted, **about)
            found[name][group] = float((guessed == rows[:, feature]).mean())
    found["attack_wall"], found["attack_cpu"] = time.perf_counter() - wall, time.process_time() - cpu

    # What can be guessed without the tree: a forest that ART trains on half of the people whom the tree was grown from.
    baseline = AttributeInferenceBaseline("rf", attack_feature=feature)
    baseline.attack_model.set_params(random_state=0)  # a forest of one's own is refused, as an empty one has no length
    baseline.fit(x[n : n + len(x) // 2])
    found["baseline"] = {
        group: float(
            (baseline.infer(np.delete(rows, feature, axis=1), values=values.tolist()) == rows[:, feature]).mean()
        )
        for group, rows in (("members", members), ("others", others))
    }
    with open(result, "w", encoding="utf-8") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
