"""plimsoll-engine as benches talk to it: one sample per line sent to it (a job whose protocol is "paced")."""
import json
import subprocess


class PacedEngine:
    def __init__(self, program, job):
        self.process = subprocess.Popen([program, job], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.prepared = self.wait("prepared")
        self.wait("progress", lambda answer: answer["phase"] == "paced")

    def wait(self, kind, fits=lambda answer: True):
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer["type"] in ("error", "does-not-fit", "unsupported"):
                raise RuntimeError(line.strip())
            if answer["type"] == kind and fits(answer):
                return answer
        raise RuntimeError("plimsoll-engine ended")

    def sample(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.wait("sample")["seconds"]

    def close(self):
        """Ends the timing; the figures of all samples."""
        self.process.stdin.close()
        measured = self.wait("measured")
        self.process.stdout.read()
        self.process.wait()
        return measured
