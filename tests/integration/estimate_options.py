#!/usr/bin/env python3
"""Every option of `plimsoll estimate` changes an answer: each is given beside a command without it, and figures must differ.

usage: estimate_options.py PLIMSOLL FOLDER (of tests/fixtures)
Pages and other forms of the same answer are listed, and with their reason the options that only add a note: five at most.
"""
import json, re, subprocess, sys

PLIMSOLL, FIXTURES = sys.argv[1:3]
TRAIN = ["resnet18", "--mode", "train", "--batch", "32", "--device", "h200"]
INFER = ["resnet18", "--batch", "32", "--device", "h200"]
DECODER = ["llama-2-7b:layers=2", "--precision", "bf16", "--batch", "4", "--seq", "64", "--device", "h200"]

# option: the command without it, and what is added.
CASES = {
    "--batch": (["resnet18", "--device", "h200"], ["--batch", "8"]),
    "--seq": (["gpt2", "--device", "h200"], ["--seq", "256"]),
    "--input": (["resnet18", "--device", "h200", "--batch", "1"], ["--input", "1x3x448x448"]),
    "--dim": ([f"{FIXTURES}/tiny.onnx", "--device", "h200"], ["--dim", "batch=256"]),
    "--mode": (INFER, ["--mode", "train"]),
    "--device": (["resnet18", "--batch", "32", "--device", "h200"], ["--device", "a30"]),
    "--precision": (INFER, ["--precision", "bf16"]),
    "--optimizer": (TRAIN, ["--optimizer", "adam"]),
    "--loss": (["gpt2", "--seq", "128", "--mode", "train", "--batch", "4", "--device", "h200"], ["--loss", "mean-square"]),
    "--channels-last": (INFER + ["--precision", "bf16"], ["--channels-last"]),
    "--inplace": (TRAIN, ["--inplace", "never"]),
    "--freeze": (TRAIN, ["--freeze", "layer1,conv1"]),
    "--checkpoint": (TRAIN, ["--checkpoint"]),
    "--accumulate": (TRAIN, ["--accumulate", "4"]),
    "--zero-grad": (TRAIN + ["--accumulate", "2"], ["--zero-grad", "keep"]),
    "--fused-optimizer": (["gpt2", "--seq", "16", "--batch", "1", "--mode", "train", "--optimizer", "adam", "--device", "h200"], ["--fused-optimizer"]),
    "--expandable-segments": (TRAIN, ["--expandable-segments"]),
    "--max-split-size": (TRAIN, ["--max-split-size", "21"]),
    "--gpus": (TRAIN + ["--sharding", "zero1"], ["--gpus", "8"]),
    "--sharding": (TRAIN + ["--gpus", "8"], ["--sharding", "zero3"]),
    "--kv-cache": (DECODER, ["--no-kv-cache"]),
    "--context": (DECODER, ["--context", "2048"]),
    "--logits": (DECODER, ["--logits", "last"]),
    "--link": (TRAIN + ["--gpus", "8", "--sharding", "data-parallel"], ["--link", "10GB/s"]),
    "--link-latency": (TRAIN + ["--gpus", "8", "--sharding", "data-parallel"], ["--link-latency", "1ms"]),
    "--gpus-per-machine": (TRAIN + ["--gpus", "16", "--sharding", "data-parallel"], ["--gpus-per-machine", "16"]),
    "--max-batch": (INFER, ["--max-batch"]),
    "--advice": (TRAIN, ["--advice"]),
    "--calibration": (INFER, ["--calibration", "none"]),
    "--layers": (INFER, ["--layers"]),
    "--kernels": (INFER, ["--kernels"]),
    "--sweep": (["resnet18", "--device", "h200"], ["--sweep", "batch=1..4"]),
}
# Forms and pages of the same answer.
FORMS = {"--help", "--json", "--timeline", "--kernel-page", "--html", "--svg"}
# Those that change no figure of an answer that there is without them, and why.
ONLY_NOTES = {
    "--compile": "is refused: torch.compile is not modelled",
    "--allow-unknown": "answers where there was none",
}
NOTES_AT_MOST = 5
# What was asked is repeated in the answer; notes are words.
ASKED = {"setting", "settings", "notes", "command", "model", "device", "mode", "batch", "precision", "sequence", "devices", "passes"}


def answer(words):
    done = subprocess.run([PLIMSOLL, "estimate", *words, "--json"], capture_output=True, text=True, timeout=600, check=False)
    if done.returncode not in (0, 1):
        return f"{' '.join(words)}: exit {done.returncode}: {done.stderr.strip()}"
    document = json.loads(done.stdout)
    return without_setting(document)


def without_setting(value):
    if isinstance(value, dict):
        return {k: without_setting(v) for k, v in value.items() if k not in ASKED}
    return [without_setting(v) for v in value] if isinstance(value, list) else value


def main():
    text = subprocess.run([PLIMSOLL, "estimate", "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
    options = set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", text.split("Examples:")[0], re.M))
    wrong = [f"{option}: neither tried nor excused" for option in sorted(options - set(CASES) - FORMS - set(ONLY_NOTES))]
    wrong += [f"{option}: no such option" for option in sorted((set(CASES) | FORMS | set(ONLY_NOTES)) - options)]
    for option, (without, added) in CASES.items():
        before, after = answer(without), answer(without + added)
        if isinstance(before, str) or isinstance(after, str):
            wrong.append(f"{option}: {before if isinstance(before, str) else after}")
        elif before == after:
            wrong.append(f"{option}: {' '.join(without)} gives the same with {' '.join(added)}")
    unknown = [f"{FIXTURES}/unknown.onnx", "--device", "h200"]
    if not isinstance(answer(unknown), str) or isinstance(answer([*unknown, "--allow-unknown"]), str):
        wrong.append("--allow-unknown: an answer without it, or none with it")
    refused = subprocess.run([PLIMSOLL, "estimate", "resnet18", "--compile"], capture_output=True, text=True, timeout=60, check=False)
    if refused.returncode == 0 or "torch.compile is not modelled" not in refused.stderr:
        wrong.append("--compile: is not refused")
    if len(ONLY_NOTES) > NOTES_AT_MOST:
        wrong.append("too many options change nothing")
    print("\n".join(wrong) or f"{len(CASES)} options change an answer")
    return 1 if wrong else 0


sys.exit(main())
