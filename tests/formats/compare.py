"""compare.py PLIMSOLL: files written by the packages of GGUF and safetensors have, for `plimsoll inspect`, the names, types and
bytes that those packages say."""
import json
import math
import os
import re
import subprocess
import sys
import tempfile

import gguf
import numpy
import safetensors
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType as Kind

WIDTH, HIDDEN, LAYERS, HEADS, KEY_HEADS, WORDS = 256, 512, 2, 4, 2, 128
KEYS = WIDTH // HEADS * KEY_HEADS


def inspect(model):
    done = subprocess.run([sys.argv[1], "inspect", model, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, f"{model}: {done.stderr}"
    return json.loads(done.stdout)


def check(what, found, wanted):
    assert found == wanted, f"{what}: {found} instead of {wanted}"


def in_every_layer(name):
    return re.sub(r"(?<=\.)\d+(?=\.)", "*", name)


def layer_tensors(i):
    """Rows before columns, as numpy has them."""
    yield from ((f"blk.{i}.{name}.weight", shape) for name, shape in {
        "attn_norm": (WIDTH,), "attn_q": (WIDTH, WIDTH), "attn_k": (KEYS, WIDTH), "attn_v": (KEYS, WIDTH),
        "attn_output": (WIDTH, WIDTH), "ffn_norm": (WIDTH,), "ffn_gate": (HIDDEN, WIDTH), "ffn_up": (HIDDEN, WIDTH),
        "ffn_down": (WIDTH, HIDDEN)}.items())


def write_gguf(path, matrices, split_bytes=0):
    writer = gguf.GGUFWriter(path, "llama", split_max_size=split_bytes)
    writer.add_block_count(LAYERS)
    writer.add_context_length(1024)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_token_list([f"word {i}" for i in range(WORDS)])
    writer.add_token_scores([0.0] * WORDS)
    tensors = [("token_embd.weight", (WORDS, WIDTH)), ("output_norm.weight", (WIDTH,)), ("output.weight", (WORDS, WIDTH))]
    for i in range(LAYERS):
        tensors += layer_tensors(i)
    for name, shape in tensors:
        kind = matrices if len(shape) > 1 else Kind.F32
        per_block, size = GGML_QUANT_SIZES[kind]
        if kind == Kind.F32:
            writer.add_tensor(name, numpy.zeros(shape, numpy.float32))
        elif kind == Kind.F16:
            writer.add_tensor(name, numpy.zeros(shape, numpy.float16))
        else:
            rows = numpy.zeros((*shape[:-1], shape[-1] // per_block * size), numpy.uint8)
            writer.add_tensor(name, rows, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def compare_gguf(path, files):
    groups, formats, values = {}, {}, 0
    for file in files:
        for tensor in gguf.GGUFReader(file).tensors:
            group = groups.setdefault(in_every_layer(tensor.name), {"tensors": 0, "values": 0, "bytes": 0, "formats": {}})
            kind = tensor.tensor_type.name
            for key, more in {"tensors": 1, "values": math.prod(map(int, tensor.shape)), "bytes": int(tensor.n_bytes)}.items():
                group[key] += more
            group["formats"][kind] = group["formats"].get(kind, 0) + 1
            formats[kind] = formats.get(kind, 0) + int(tensor.n_bytes)
            values += math.prod(map(int, tensor.shape))
    answer = inspect(path)
    check(f"{path}: parameters", answer["parameters"], values)
    check(f"{path}: bytes by type", {f["format"]: f["bytes"] for f in answer["stored"]["formats"]}, formats)
    check(f"{path}: groups", {g.pop("weights"): g for g in answer["stored"]["groups"]}, groups)


def gguf_files(folder):
    # The package has 40 bytes for a block of Q8_1, llama.cpp 36; nobody stores weights so.
    kinds = [kind for kind in GGML_QUANT_SIZES if kind != Kind.Q8_1]
    for kind in kinds:
        path = os.path.join(folder, f"{kind.name}.gguf")
        write_gguf(path, kind)
        compare_gguf(path, [path])
        os.unlink(path)
    write_gguf(os.path.join(folder, "split.gguf"), Kind.Q4_K, split_bytes=200_000)
    parts = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.startswith("split-"))
    assert len(parts) > 1, parts
    for part in (parts[0], parts[-1]):
        compare_gguf(part, parts)
    print(f"{len(kinds)} types, and {len(parts)} parts of a split file, as gguf {gguf_version()} has them")


def gguf_version():
    import importlib.metadata
    return importlib.metadata.version("gguf")


CONFIG = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": WIDTH, "intermediate_size": HIDDEN,
          "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": KEY_HEADS, "vocab_size": WORDS,
          "tie_word_embeddings": False}
TYPES = {"float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "int8": 1}
OWN_NAME = {"float8_e4m3fn": "float8e4m3fn"}


def checkpoint(kind, prefix):
    yield f"{prefix}embed_tokens.weight", (WORDS, WIDTH), kind
    yield f"{prefix}norm.weight", (WIDTH,), "float32"
    yield "lm_head.weight", (WORDS, WIDTH), kind
    for i in range(LAYERS):
        for name, shape in {"input_layernorm": (WIDTH,), "post_attention_layernorm": (WIDTH,), "self_attn.q_proj": (WIDTH, WIDTH),
                            "self_attn.k_proj": (KEYS, WIDTH), "self_attn.v_proj": (KEYS, WIDTH), "self_attn.o_proj": (WIDTH, WIDTH),
                            "mlp.gate_proj": (HIDDEN, WIDTH), "mlp.up_proj": (HIDDEN, WIDTH),
                            "mlp.down_proj": (WIDTH, HIDDEN)}.items():
            yield f"{prefix}layers.{i}.{name}.weight", shape, kind if len(shape) > 1 else "float32"


def save(path, tensors):
    buffers = {name: numpy.zeros(math.prod(shape) * TYPES[kind], numpy.uint8) for name, shape, kind in tensors}
    safetensors.serialize_file({name: safetensors.TensorSpec(dtype=kind, shape=list(shape), data_ptr=buffers[name].ctypes.data,
                                                             data_len=buffers[name].nbytes)
                                for name, shape, kind in tensors}, path)


def compare_checkpoint(folder, tensors):
    formats = {}
    for _, shape, kind in tensors:
        own = OWN_NAME.get(kind, kind)
        formats[own] = formats.get(own, 0) + math.prod(shape) * TYPES[kind]
    answer = inspect(folder)
    if "stored" in answer:
        check(f"{folder}: bytes by type", {f["format"]: f["bytes"] for f in answer["stored"]["formats"]}, formats)
    else:
        check(f"{folder}: types", list(formats), ["float32"])
    check(f"{folder}: parameters", answer["parameters"], sum(math.prod(shape) for _, shape, _ in tensors))
    check(f"{folder}: notes that tell of a mismatch", [n for n in answer["notes"] if "safetensors files" in n], [])


def checkpoints(folder):
    for kind in TYPES:
        for prefix in ("model.", ""):
            model = os.path.join(folder, f"{kind}{prefix}")
            os.mkdir(model)
            with open(os.path.join(model, "config.json"), "w", encoding="utf-8") as file:
                json.dump(CONFIG, file)
            tensors = list(checkpoint(kind, prefix))
            save(os.path.join(model, "model.safetensors"), tensors)
            compare_checkpoint(model, tensors)
    # In shards, with an index.
    model = os.path.join(folder, "sharded")
    os.mkdir(model)
    with open(os.path.join(model, "config.json"), "w", encoding="utf-8") as file:
        json.dump(CONFIG, file)
    tensors = list(checkpoint("bfloat16", "model."))
    shards = {f"model-0000{i + 1}-of-00003.safetensors": tensors[i::3] for i in range(3)}
    for name, part in shards.items():
        save(os.path.join(model, name), part)
    with open(os.path.join(model, "model.safetensors.index.json"), "w", encoding="utf-8") as file:
        json.dump({"metadata": {}, "weight_map": {t[0]: name for name, part in shards.items() for t in part}}, file)
    compare_checkpoint(model, tensors)
    print(f"{2 * len(TYPES) + 1} checkpoints, as safetensors {safetensors.__version__} writes them")


with tempfile.TemporaryDirectory() as place:
    gguf_files(place)
    checkpoints(place)
