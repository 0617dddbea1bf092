#!/usr/bin/env python3
"""What a decoder's cache of keys and values takes, by `plimsoll estimate` and by the figures of its configuration.

usage: decoder_caches.py PLIMSOLL FOLDER (of tests/fixtures/huggingface)
Attention of every head, grouped, latent and sliding; the tokens are new ones, in the cache already, or both.
"""
import json, subprocess, sys

PLIMSOLL, FOLDER = sys.argv[1:3]
BYTES = 2  # bf16
# Allocations are rounded up to 512 B.
TOLERANCE = 0.002


def values_of(name):
    """Of one token: values in each layer, and the tokens that the layer keeps (None: all)."""
    c = json.load(open(f"{FOLDER}/{name}.json", encoding="utf-8"))
    layers = c.get("num_hidden_layers") or c["n_layer"]
    heads = c.get("num_attention_heads") or c["n_head"]
    if "kv_lora_rank" in c:
        return [(c["kv_lora_rank"] + c["qk_rope_head_dim"], None)] * layers
    width = c.get("head_dim") or (c.get("hidden_size") or c["n_embd"]) // heads
    values = 2 * (c.get("num_key_value_heads") or heads) * width
    window = c.get("sliding_window") if c.get("use_sliding_window", True) else None
    if c["model_type"] == "gemma2":  # every second layer, from the first
        return [(values, window if i % 2 == 0 else None) for i in range(layers)]
    if c["model_type"] == "gemma3_text":  # all but every sixth
        return [(values, window if (i + 1) % c["sliding_window_pattern"] else None) for i in range(layers)]
    return [(values, window)] * layers


def expected(name, tokens, batch):
    return batch * BYTES * sum(values * (min(tokens, window) if window else tokens) for values, window in values_of(name))


def estimated(name, new, context, batch):
    command = [PLIMSOLL, "estimate", f"{FOLDER}/{name}.json", "--device", "h200", "--precision", "bf16", "--batch", str(batch),
               "--seq", str(new), "--context", str(context), "--logits", "last", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)["memory"]["by_purpose"]["key-value cache"]


wrong = compared = 0
for name in ("gpt2", "Phi-3-mini-4k-instruct", "Llama-3.2-1B", "Qwen2.5-7B", "Mistral-7B-v0.1", "gemma-2-2b", "gemma-3-1b-it",
             "DeepSeek-V2-Lite"):
    for new, context, batch in ((512, 0, 1), (1, 511, 3), (256, 256, 2), (1, 8191, 1), (4096, 4096, 1)):
        if name == "gpt2" and new + context > 1024:
            continue  # it has no more positions
        got, want = estimated(name, new, context, batch), expected(name, new + context, batch)
        compared += 1
        if not want * (1 - 1e-9) <= got <= want * (1 + TOLERANCE) + 512 * 2 * 100:
            wrong += 1
            print(f"{name}, {new} new and {context} cached tokens, batch {batch}: {got} B, by the configuration {want} B")
print(f"{compared} caches, {wrong} wrong")
sys.exit(1 if wrong else 0)
