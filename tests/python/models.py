"""Small models that the tests hand over, one for each thing that can go wrong."""

import collections
import dataclasses

import torch
from torch import nn


class Normed(nn.Module):
    """Two BatchNorms with equal initial values, and a Dropout."""

    def __init__(self, classes=10):
        super().__init__()
        self.convolution = nn.Conv2d(3, 8, 3)
        self.first = nn.BatchNorm2d(8)
        self.again = nn.Conv2d(8, 8, 3)
        self.second = nn.BatchNorm2d(8)
        self.dropout = nn.Dropout(0.3)
        self.head = nn.Linear(8, classes)

    def forward(self, image):
        x = torch.relu(self.first(self.convolution(image)))
        x = torch.relu(self.second(self.again(x)))
        return self.head(self.dropout(x.mean((2, 3))))


class Tied(nn.Module):
    """A language model whose head is its embedding."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(1000, 64)
        self.body = nn.Linear(64, 64)
        self.head = nn.Linear(64, 1000, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids):
        return self.head(self.body(self.embedding(ids)))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(16, 32, num_layers=2, batch_first=True, dropout=0.1)

    def forward(self, x):
        output, state = self.lstm(x)
        return output, state


class Config:
    use_cache = True


Output = collections.namedtuple("Output", "logits past")


@dataclasses.dataclass
class Cache:
    layers: list = dataclasses.field(default_factory=list)
    note: str = "not a tensor"


class Cached(nn.Module):
    """As Hugging Face's: a config with use_cache, a dict of outputs, keyword inputs."""

    def __init__(self):
        super().__init__()
        self.config = Config()
        self.embedding = nn.Embedding(4, 8)

    def forward(self, input_ids=None, attention_mask=None, inputs_embeds=None):
        hidden = self.embedding(input_ids) * attention_mask.unsqueeze(-1)
        result = {"logits": hidden, "none": None, "pooled": hidden.mean(1)}
        if self.config.use_cache:
            result["past_key_values"] = (hidden * 2,)
        result["cache"] = Cache()
        return result


class FixedBatch(nn.Module):
    """Makes a Python number of the batch, so that a trace holds it as a constant."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 3)

    def forward(self, x):
        return self.linear(x.reshape(int(x.shape[0]), 6))


class Unexportable(nn.Module):
    """An operator that has no ONNX form."""

    def forward(self, x):
        return torch.linalg.eigvals(x).abs()


class Picky(nn.Module):
    def forward(self, image, scale):
        return image * scale


def make_normed(classes=10):
    return Normed(classes)


def make_nothing():
    return {"weights": 1}


def make_trouble():
    return [1, 2][5]


instance = Normed()
number = 3
