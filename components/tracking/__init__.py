"""What MLflow is told: training runs, metrics, dataset inputs by our digest, models and the champion's alias."""
