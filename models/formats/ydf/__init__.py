"""Model folders of ydf (Yggdrasil, TensorFlow Decision Forests)."""
