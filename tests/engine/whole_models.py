"""Whole models through the engine: exported with their weights by torchvision, they must give PyTorch's outputs.

PLIMSOLL_PROGRAMS names the folder with plimsoll, which writes the engine's jobs, and plimsoll-engine.
"""
import contextlib
import functools
import json
import os
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
from arrays import read_safetensors, write_safetensors

PROGRAMS = pathlib.Path(os.environ.get("PLIMSOLL_PROGRAMS", "build/engine/apps"))
MOST_DIFFERENCE = 1e-4  # relative to the largest number of an output
LEAST_MATCHED = 0.95
LEAST_OVERLAP = 0.99
OPSET = 17

THREADS = 2  # alike on both sides: another number adds in another order
torch.set_num_threads(THREADS)


def settled(model, *inputs):
    """The model ready to infer, with running statistics that fit its random weights: numbers stay of one size
    through all its layers, as in a trained model."""
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = None
            module.train()
    with torch.no_grad():
        model(*inputs)
    return model.eval()


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr + done.stdout


def computed(folder, model, inputs, output_names, folding, opset=OPSET):
    """The model's outputs as the engine computes them, by name."""
    names = [f"input_{i}" for i in range(len(inputs))]
    torch.onnx.export(model, inputs, str(folder / "model.onnx"), input_names=names, output_names=output_names,
                      opset_version=opset, do_constant_folding=folding)
    write_safetensors(folder / "inputs.safetensors", dict(zip(names, inputs)))
    run(PROGRAMS / "plimsoll", "engine-job", folder / "model.onnx", "-o", folder / "job.json")
    job = json.loads((folder / "job.json").read_text())
    job.update(task="compute", inputs_file=str(folder / "inputs.safetensors"),
               outputs_file=str(folder / "outputs.safetensors"))
    job["execution"]["threads"] = THREADS
    (folder / "job.json").write_text(json.dumps(job))
    run(PROGRAMS / "plimsoll-engine", folder / "job.json")
    return read_safetensors(folder / "outputs.safetensors")


def difference(found, truth):
    assert found.shape == truth.shape
    return ((found - truth).abs().max() / truth.abs().max()).item()


CLASSIFIERS = ["resnet18", "mobilenet_v2", "vgg11", "densenet121", "vit_b_16", "swin_t"]


@pytest.mark.parametrize("folding", [True, False], ids=["folded", "unfolded"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifier(name, folding, tmp_path):
    torch.manual_seed(1)
    image = torch.randn(1, 3, 224, 224)
    model = settled(getattr(torchvision.models, name)(weights=None).eval(), torch.randn(4, 3, 224, 224))
    if name == "vit_b_16":  # a new one gives zeros
        torch.nn.init.normal_(model.heads.head.weight, std=0.02)
    with torch.no_grad():
        truth = model(image)
    found = computed(tmp_path, model, (image,), ["output"], folding)["output"]
    assert difference(found, truth) < MOST_DIFFERENCE


class WithHeads(torch.nn.Module):
    """A detector that gives the outputs of some of its modules beside its detections."""

    def __init__(self, detector, heads):
        super().__init__()
        self.detector = detector
        self.heads = heads

    def forward(self, image):
        seen = []

        def keep(_module, _inputs, outputs):
            for output in outputs.values() if isinstance(outputs, dict) else outputs:
                seen.extend(output if isinstance(output, (list, tuple)) else [output])

        with contextlib.ExitStack() as stack:
            for name in self.heads:
                hook = self.detector.get_submodule(name).register_forward_hook(keep)
                stack.callback(hook.remove)
            (found,) = self.detector([image])
        return (found["boxes"], found["labels"], found["scores"], *seen)


def matched(boxes, labels, true_boxes, true_labels):
    """The share of the true detections that have one of the same class in the same place."""
    overlaps = torchvision.ops.box_iou(true_boxes, boxes)
    overlaps[true_labels[:, None] != labels[None, :]] = 0
    return (overlaps.max(dim=1).values > LEAST_OVERLAP).float().mean().item()


def spread(detector, image, modules):
    """Scales the last weights of heads, so that their outputs are neither undecided nor all the same: a new head's
    scores are equal but for the last digits, which any other order of additions changes."""

    def scale(module, _inputs, output, deviation):
        factor = deviation / output.std()
        module.weight.data *= factor
        return output * factor

    with contextlib.ExitStack() as stack, torch.no_grad():
        for module, deviation in modules:
            torch.nn.init.zeros_(module.bias)
            hook = module.register_forward_hook(functools.partial(scale, deviation=deviation))
            stack.callback(hook.remove)
        detector([image])
    return detector


def ssd():
    image = torch.rand(3, 300, 300)
    detector = torchvision.models.detection.ssd300_vgg16(weights=None, weights_backbone=None).eval()
    head = detector.head
    modules = [(module, 2.0) for module in head.classification_head.module_list]
    modules += [(module, 1.0) for module in head.regression_head.module_list]
    return spread(detector, image, modules), ["head"], image


def faster_rcnn():
    image = torch.rand(3, 320, 320)
    detector = torchvision.models.detection.fasterrcnn_resnet50_fpn(
        weights=None, weights_backbone=None, min_size=320, max_size=320, rpn_post_nms_top_n_test=200)
    # Blocks that change little, as trained ones: else each layer multiplies the rounding errors of the last.
    for block in detector.backbone.body.modules():
        if hasattr(block, "bn3"):
            torch.nn.init.constant_(block.bn3.weight, 0.2)
    detector = settled(detector.eval(), [image])
    rpn, predictor = detector.rpn.head, detector.roi_heads.box_predictor
    modules = [(rpn.cls_logits, 1.0), (rpn.bbox_pred, 0.2), (predictor.cls_score, 2.0), (predictor.bbox_pred, 1.0)]
    return spread(detector, image, modules), ["rpn.head", "roi_heads.box_predictor"], image


@pytest.mark.parametrize("build", [ssd, faster_rcnn], ids=["ssd300_vgg16", "fasterrcnn_resnet50_fpn"])
def test_detector(build, tmp_path):
    torch.manual_seed(1)
    detector, heads, image = build()
    model = WithHeads(detector, heads).eval()
    with torch.no_grad():
        truth = model(image)
    assert len(truth[0]) > 20, "too few detections to compare"
    names = ["boxes", "labels", "scores"] + [f"head_{i}" for i in range(len(truth) - 3)]
    found = computed(tmp_path, model, (image,), names, True, opset=11)
    for name, head in zip(names[3:], truth[3:]):
        assert difference(found[name], head) < MOST_DIFFERENCE, name
    assert matched(found["boxes"], found["labels"], truth[0], truth[1]) >= LEAST_MATCHED


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", *sys.argv[1:]]))
