"""SACRO-ML's structural attack on a tree, in an environment of its own: sacroml.py INSTANCE.npz RESULT.json.

Benchmarks/peers.py runs it; it imports nothing of this project.
"""

import json
import sys
import tempfile
import time

import numpy as np
from sacroml.attacks.structural_attack import StructuralAttack
from sacroml.attacks.target import Target
from sklearn.tree import DecisionTreeClassifier


def main(instance: str, result: str) -> None:
    with np.load(instance) as data:
        x, y, x_test, y_test, depth = (data[name] for name in ("x", "y", "x_test", "y_test", "depth"))
    model = DecisionTreeClassifier(max_depth=int(depth), random_state=0).fit(x, y)
    target = Target(model=model, dataset_name="adult", X_train=x, y_train=y, X_test=x_test, y_test=y_test)
    wall, cpu = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        attack = StructuralAttack(output_dir=folder, write_report=False, report_individual=True)
        said = attack.attack(target)
    seconds = {"attack_wall": time.perf_counter() - wall, "attack_cpu": time.process_time() - cpu}
    metrics = said["attack_experiment_logger"]["attack_instance_logger"]["instance_0"]
    individual = metrics.pop("individual")
    sizes = np.array(individual["k_anonymity"])
    found = {
        "leaves": sorted(model.tree_.n_node_samples[model.tree_.children_left < 0].tolist()),
        "threshold": int(attack.THRESHOLD),
        "k": int(sizes.min()),
        "below": int((sizes < attack.THRESHOLD).sum()),
        "class_disclosure": int(np.sum(individual["class_disclosure"])),
        "small_groups": int(np.sum(individual["smallgroup_risk"])),
        "metrics": {key: value if value is None else np.asarray(value).item() for key, value in metrics.items()},
        **seconds,
    }
    with open(result, "w", encoding="utf-8") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
