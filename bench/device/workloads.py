"""The networks and training steps that the scripts of this folder run with PyTorch, as memory.jsonl's were run: images
224x224 (Inception 299), token ids of length 128 (BERT kinds) or 512 (GPT-2, Llama), cross-entropy for images, the mean
of squares of the first output for language models, no dropout in language models."""

import contextlib

import torch

VISION = ("alexnet vgg16 googlenet resnet50 resnet152 mobilenet_v2 efficientnet_b0 squeezenet1_1 convnext_tiny vit_b_16 "
          "inception_v3 densenet121 mobilenet_v3_large resnext50_32x4d swin_t regnet_y_1_6gf shufflenet_v2_x1_0 "
          "vgg11_bn resnet18 mnasnet1_0 efficientnet_v2_s").split()
LANGUAGE = "bert_base distilbert gpt2 llama_300m".split()


def make(name):
    """The module and its input shape without the batch."""
    if name in LANGUAGE:
        import transformers as t
        none = dict(attention_dropout=0.0)
        if name == "bert_base":
            return t.BertModel(t.BertConfig(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)), (128,)
        if name == "distilbert":
            return t.DistilBertModel(t.DistilBertConfig(dropout=0.0, **none)), (128,)
        if name == "gpt2":
            return t.GPT2LMHeadModel(t.GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)), (512,)
        return t.LlamaForCausalLM(t.LlamaConfig(vocab_size=32000, hidden_size=1024, intermediate_size=2816,
                                                num_hidden_layers=20, num_attention_heads=16, num_key_value_heads=16,
                                                max_position_embeddings=2048, use_cache=False)), (512,)
    import torchvision
    extra = dict(init_weights=False) if name in ("googlenet", "inception_v3") else {}
    module = getattr(torchvision.models, name)(weights=None, **extra)
    return module, (3, 299, 299) if name == "inception_v3" else (3, 224, 224)


def inputs(name, shape, batch):
    if name in LANGUAGE:
        return torch.randint(0, 30000, (batch, *shape), device="cuda"), None
    return torch.randn(batch, *shape, device="cuda"), torch.randint(0, 1000, (batch,), device="cuda")


def first(outputs):
    if torch.is_tensor(outputs):
        return outputs
    return outputs[0]


def loss_of(name, outputs, target):
    if name in LANGUAGE:
        return outputs.float().pow(2).mean()
    if not torch.is_tensor(outputs):  # GoogLeNet and Inception: auxiliary heads
        return sum(torch.nn.functional.cross_entropy(o, target) for o in outputs if o is not None)
    return torch.nn.functional.cross_entropy(outputs, target)


def optimizer_of(kind, module):
    parameters = module.parameters()
    return {"sgd": lambda: torch.optim.SGD(parameters, lr=1e-3), "momentum": lambda: torch.optim.SGD(parameters, lr=1e-3, momentum=0.9),
            "adam": lambda: torch.optim.Adam(parameters, lr=1e-5), "adamw": lambda: torch.optim.AdamW(parameters, lr=1e-5)}[kind]()


def autocast(precision):
    if precision == "amp-bf16":
        return torch.autocast("cuda", dtype=torch.bfloat16)
    return contextlib.nullcontext()


class Training:
    """A training step, callable."""

    def __init__(self, name, batch, precision, optimizer):
        self.name, self.precision = name, precision
        self.module, shape = make(name)
        self.module.cuda().train()
        self.x, self.target = inputs(name, shape, batch)
        self.optimizer = optimizer_of(optimizer, self.module)

    def __call__(self):
        self.optimizer.zero_grad(set_to_none=True)
        with autocast(self.precision):
            self.output = self.module(self.x)  # held until the next step's takes its place, as in most scripts
            if self.name in LANGUAGE:
                self.output = first(self.output)
            loss = loss_of(self.name, self.output, self.target)
        loss.backward()
        self.optimizer.step()


class Inference:
    def __init__(self, name, batch, precision, optimizer=None):
        self.precision = precision
        self.module, shape = make(name)
        self.module.cuda().eval()
        self.x, _ = inputs(name, shape, batch)

    def __call__(self):
        with torch.no_grad(), autocast(self.precision):
            self.module(self.x)
