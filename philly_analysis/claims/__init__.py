"""Claims: findings of the study that any trace can be asked. Together they make the atlas."""
