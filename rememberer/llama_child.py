"""Run, never imported: llama.cpp's server in a process of its own, so that a native crash does not end the page.

Takes one line of JSON on its standard input: `path`, `api_key`, `context` (tokens), `threads`. Answers with one line of
JSON on its standard output, `{"url": ...}` when the model is loaded or `{"error": ...}`, and ends when its standard
input closes, which the operating system does when the parent ends, however it ends.

Imports nothing of this project: it starts faster, and works wherever the file lies.
"""

import json
import os
import sys
import threading


def main() -> None:
    # The answer has the old standard output for itself; what llama.cpp prints there goes to the log.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(**told: str) -> None:
        print(json.dumps(told), file=answers, flush=True)

    settings = json.loads(sys.stdin.readline())
    watch = threading.Thread(target=_end_with_parent)
    watch.start()
    try:
        import xllamacpp
    except ImportError as error:
        answer(error="runtime", detail=str(error))
        os._exit(1)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = settings["path"]
    parameters.model_alias = {"local"}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    # Its answers to browsers allow every origin, so only the key keeps other pages out.
    parameters.api_keys = [settings["api_key"]]
    parameters.ui = False
    parameters.n_parallel = 1
    parameters.n_ctx = settings["context"]
    parameters.cache_ram_mib = 256
    parameters.verbosity = 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = settings["threads"]
    try:
        server = xllamacpp.Server(parameters)
    except RuntimeError as error:
        answer(error="model", detail=str(error))
        os._exit(1)
    answer(url=server.listening_address)
    watch.join()


def _end_with_parent() -> None:
    sys.stdin.read()
    # Not an orderly end: nothing is to be saved, and a running answer would hold it up.
    os._exit(0)


if __name__ == "__main__":
    main()
