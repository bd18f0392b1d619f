"""What runs: one flow a module, and the command line.

Prefect reads its settings when it is first imported, so what must hold in every process that runs a flow (a terminal, a
worker, a test) is set here, before any flow module is loaded: no usage data is sent to anybody.
"""

import os

os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
os.environ.setdefault("DO_NOT_TRACK", "1")
# The bootstrap's products are small: threads inside each cost more than they give, above all on a busy machine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
