"""Starts the server of a real model on a free port, prints its address when it answers, and ends it when told to end.

llama.py SERVER WEIGHTS [ARGUMENT…]
"""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
server, weights, *rest = sys.argv[1:]
command = [server, "-m", weights, "-ngl", "0", "--host", "127.0.0.1", "--port", str(port), "--no-webui", *rest]
process = subprocess.Popen(command, stdout=sys.stderr, start_new_session=True)


def end(*_):
    # Whoever waits for it is told then; to wait here, in a signal's handler, would be to wait for oneself.
    os.killpg(process.pid, signal.SIGKILL)


signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGINT, end)
straight = urllib.request.build_opener(urllib.request.ProxyHandler({}))
for _ in range(600):
    if process.poll() is not None:
        sys.exit(f"the server has ended with {process.returncode}")
    try:
        straight.open(f"http://127.0.0.1:{port}/health", timeout=5)
        break
    except OSError:
        time.sleep(0.1)
else:
    end()
    sys.exit("the server does not answer")
print(f"http://127.0.0.1:{port}", flush=True)
process.wait()
