"""PMML: trees and ensembles of trees, whoever wrote them."""
