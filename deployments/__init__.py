"""Where and when it runs: deployments, suites and the demo material."""
