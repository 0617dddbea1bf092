#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "network/zoo/blocks.hpp"
#include "network/zoo/boxes.hpp"
#include "network/zoo/families.hpp"
#include "network/zoo/resnet.hpp"

namespace plimsoll::network::zoo {
namespace {

// Ren et al. 2015 with the pyramid of Lin et al. 2016, as torchvision's fasterrcnn_resnet50_fpn. How many
// proposals survive depends on the image; what is known is that they are no more than these.
constexpr std::int64_t kBeforeSuppression = 1000;
constexpr std::int64_t kBeforeSuppressionTraining = 2000;
constexpr std::int64_t kProposals = 1000;
constexpr std::int64_t kSampled = 512;  // training samples so many of its proposals, per image
constexpr std::int64_t kFasterRcnnAnchors = 3;
constexpr std::int64_t kPyramid = 256;
constexpr std::int64_t kPooled = 7;
constexpr std::int64_t kHidden = 1024;
constexpr int kPooledLevels = 4;  // the fifth level makes proposals only
constexpr Option kFasterRcnnOptions[] = {
    kInput,
    kChannels,
    {"classes", "how many classes, the background among them", "91", Option::Kind::integer, 2, 1e4}};

std::vector<Image> pyramid(Blocks& b, const std::vector<Image>& stages) {
  std::vector<Image> levels(stages.size());
  Image above;
  for (std::size_t i = stages.size(); i-- > 0;) {
    const std::string inner = fmt::format("backbone.fpn.inner_blocks.{}.0", i);
    const std::string layer = fmt::format("backbone.fpn.layer_blocks.{}.0", i);
    Image x = b.conv(inner, stages[i], {.out = kPyramid, .bias = true});
    if (i + 1 < stages.size()) x = b.sum(inner + ".add", x, b.upsample(inner + ".upsample", above, x.size));
    above = x;
    levels[i] = b.conv(layer, x, {.out = kPyramid, .kernel = 3, .pad = 1, .bias = true});
  }
  levels.push_back(b.max_pool("backbone.fpn.extra_blocks", levels.back(), {.kernel = 1, .stride = 2}));
  return levels;
}

/// What the proposal network says of all levels: the best candidates of each, joined.
struct Candidates {
  TensorId scores;   ///< batch x candidates
  TensorId offsets;  ///< batch x candidates x 4
  TensorId anchors;  ///< batch x candidates x 4: centre and size
};

class ProposalNetwork {
 public:
  explicit ProposalNetwork(Blocks& b)
      : b_(b),
        conv_(b.filters("rpn.head.conv.0.0", kPyramid, kConv)),
        objectness_(b.filters("rpn.head.cls_logits", kPyramid, kObjectness)),
        offsets_(b.filters("rpn.head.bbox_pred", kPyramid, kOffsets)) {}

  Candidates candidates(const std::vector<Image>& levels) {
    for (std::size_t i = 0; i < levels.size(); ++i) level(fmt::format("rpn.level{}", i), levels[i]);
    const auto join = [this](const char* name, const std::vector<TensorId>& parts) {
      return b_.add("Concat", name, parts, {{"axis", 1}});
    };
    if (b_.training()) {
      b_.output(join("rpn.objectness", all_objectness_));
      b_.output(join("rpn.pred_bbox_deltas", all_offsets_));
    }
    return {join("rpn.scores", best_scores_), join("rpn.offsets", best_offsets_),
            join("rpn.anchors", best_anchors_)};
  }

 private:
  static constexpr Convolution kConv{.out = kPyramid, .kernel = 3, .pad = 1, .bias = true};
  static constexpr Convolution kObjectness{.out = kFasterRcnnAnchors, .bias = true};
  static constexpr Convolution kOffsets{.out = kFasterRcnnAnchors * 4, .bias = true};

  // All levels share the head's weights.
  void level(const std::string& name, Image x) {
    x = b_.activate(name + ".relu", b_.conv(name + ".conv", x, kConv, conv_), Activation::relu);
    const TensorId rows =
        head_rows(b_, name + ".objectness", b_.conv(name + ".cls_logits", x, kObjectness, objectness_), 1);
    const TensorId objectness = b_.add("Squeeze", name + ".objectness", {rows, b_.integers({2})});
    const TensorId offsets =
        head_rows(b_, name + ".offsets", b_.conv(name + ".bbox_pred", x, kOffsets, offsets_), 4);
    const std::int64_t boxes = x.size.height * x.size.width * kFasterRcnnAnchors;
    const std::int64_t kept =
        std::min(boxes, b_.training() ? kBeforeSuppressionTraining : kBeforeSuppression);
    const auto best =
        b_.add_many("TopK", name + ".topk", {objectness, b_.integers({kept})}, 2, {{"axis", 1}});
    const TensorId index = b_.add("Unsqueeze", name + ".index", {best[1], b_.integers({2})});
    const TensorId anchors = b_.builder().buffer(name + ".anchors.table", {boxes, 4});
    all_objectness_.push_back(objectness);
    all_offsets_.push_back(offsets);
    best_scores_.push_back(best[0]);
    best_offsets_.push_back(
        b_.add("GatherND", name + ".best_offsets", {offsets, index}, {{"batch_dims", 1}}));
    best_anchors_.push_back(b_.add("Gather", name + ".anchors", {anchors, best[1]}, {{"axis", 0}}));
  }

  Blocks& b_;
  Blocks::Filters conv_, objectness_, offsets_;
  std::vector<TensorId> all_objectness_, all_offsets_, best_scores_, best_offsets_, best_anchors_;
};

/// Regions of interest of the whole batch: how many is known only when the image is seen.
struct Regions {
  TensorId boxes;  ///< regions x 4
  TensorId image;  ///< regions: which of the batch
};

Regions propose(Blocks& b, const Candidates& candidates) {
  const Halves anchors = halves(b, "rpn.anchors.split", candidates.anchors);
  const TensorId boxes =
      decode_boxes(b, "rpn.boxes", candidates.offsets, anchors.first, anchors.second, {1, 1});
  const TensorId scores =
      b.add("Unsqueeze", "rpn.scores.unsqueeze",
            {b.activate("rpn.scores.sigmoid", candidates.scores, Activation::sigmoid), b.integers({1})});
  const TensorId most = b.integers({b.training() ? kSampled : kProposals});
  const TensorId kept = b.add("NonMaxSuppression", "rpn.nms", {boxes, scores, most, b.real(0.7), b.real(0)});
  const TensorId where = b.add("Gather", "rpn.nms.where", {kept, b.integers({0, 2})}, {{"axis", 1}});
  return {b.add("GatherND", "rpn.proposals", {boxes, where}),
          b.add("Gather", "rpn.nms.image", {kept, b.integer(0)}, {{"axis", 1}})};
}

// Which level a region is read from: floor(4 + log2(sqrt(area) / 224)), from 2 to 5.
TensorId region_levels(Blocks& b, const Regions& regions) {
  const std::string name = "roi_heads.box_roi_pool.levels";
  const Halves corners = halves(b, name + ".corners", regions.boxes);
  const TensorId sides = b.add("Sub", name + ".sides", {corners.second, corners.first});
  const TensorId area = b.add("ReduceProd", name + ".area", {sides, b.integers({1})}, {{"keepdims", 0}});
  const TensorId ratio = b.add("Div", name + ".div", {b.add("Sqrt", name + ".sqrt", {area}), b.real(224)});
  const TensorId log2 =
      b.add("Div", name + ".log2", {b.add("Log", name + ".log", {ratio}), b.real(std::numbers::ln2)});
  const TensorId level = b.add("Floor", name + ".floor", {b.add("Add", name + ".add", {log2, b.real(4)})});
  const TensorId within = b.add("Clip", name + ".clip", {level, b.real(2), b.real(5)});
  return b.add("Cast", name, {within}, {{"to", static_cast<std::int64_t>(DataType::int64)}});
}

// Every region is read from its level and put back in its place: regions x 256 x 7 x 7.
TensorId pool_regions(Blocks& b, const std::vector<Image>& levels, const Regions& regions, Size input) {
  const std::string name = "roi_heads.box_roi_pool";
  const TensorId level_of = region_levels(b, regions);
  const TensorId count = b.add("Shape", name + ".count", {regions.image}, {{"start", 0}, {"end", 1}});
  const TensorId shape =
      b.add("Concat", name + ".shape", {count, b.integers({kPyramid, kPooled, kPooled})}, {{"axis", 0}});
  TensorId pooled = b.filled(name + ".empty", shape, 0);
  for (int i = 0; i < kPooledLevels; ++i) {
    const std::string level = fmt::format("{}.level{}", name, i);
    const TensorId here = b.add("Equal", level + ".equal", {level_of, b.integer(i + 2)});
    const TensorId index =
        b.add("Squeeze", level + ".index", {b.add("NonZero", level + ".nonzero", {here}), b.integers({0})});
    const TensorId boxes = b.add("Gather", level + ".boxes", {regions.boxes, index}, {{"axis", 0}});
    const TensorId image = b.add("Gather", level + ".image", {regions.image, index}, {{"axis", 0}});
    const Image& map = levels[static_cast<std::size_t>(i)];
    const double scale = std::exp2(
        std::round(std::log2(static_cast<double>(map.size.height) / static_cast<double>(input.height))));
    const TensorId aligned = b.add("RoiAlign", level + ".roi_align", {map.id, boxes, image},
                                   {{"coordinate_transformation_mode", "output_half_pixel"},
                                    {"output_height", kPooled},
                                    {"output_width", kPooled},
                                    {"sampling_ratio", 2},
                                    {"spatial_scale", scale}});
    const TensorId rows = b.add("Unsqueeze", level + ".rows", {index, b.integers({1})});
    pooled = b.add("ScatterND", level + ".scatter", {pooled, rows, aligned});
  }
  return pooled;
}

void box_head(Blocks& b, TensorId pooled, const Regions& regions, std::int64_t classes) {
  Features x{b.add("Flatten", "roi_heads.box_head.flatten", {pooled}, {{"axis", 1}}),
             kPyramid * kPooled * kPooled};
  for (const std::string name : {"roi_heads.box_head.fc6", "roi_heads.box_head.fc7"}) {
    x = b.linear(name, x, kHidden);
    x.id = b.activate(name + ".relu", x.id, Activation::relu);
  }
  const TensorId logits = b.linear("roi_heads.box_predictor.cls_score", x, classes).id;
  const TensorId offsets = b.linear("roi_heads.box_predictor.bbox_pred", x, classes * 4).id;
  if (b.training()) {
    b.output(logits);
    b.output(offsets);
    return;
  }
  const Halves corners = halves(b, "roi_heads.corners", regions.boxes);
  const TensorId sizes = b.add("Sub", "roi_heads.sizes", {corners.second, corners.first});
  const TensorId half = b.add("Mul", "roi_heads.half", {sizes, b.real(0.5)});
  const TensorId centres = b.add("Add", "roi_heads.centres", {corners.first, half});
  const auto per_class = [&b](const std::string& name, TensorId t) {
    return b.add("Unsqueeze", name, {t, b.integers({1})});
  };
  const TensorId by_class = b.add("Reshape", "roi_heads.offsets", {offsets, b.integers({0, classes, 4})});
  b.output(decode_boxes(b, "boxes", by_class, per_class("roi_heads.centres.unsqueeze", centres),
                        per_class("roi_heads.sizes.unsqueeze", sizes), {10, 5}));
  b.output(b.add("Softmax", "scores", {logits}, {{"axis", -1}}));
  b.output(regions.image);
}

Result<Network> build_faster_rcnn(const Entry& entry, const Arguments& arguments, Mode mode) {
  Blocks b(entry.name, mode);
  const Image input = b.image_input("input", arguments.image());
  const ResNetLayout resnet50;
  const std::vector<Image> levels = pyramid(b, resnet_stages(b, input, resnet50, "backbone.body.", true));
  const Regions regions = propose(b, ProposalNetwork(b).candidates(levels));
  box_head(b, pool_regions(b, levels, regions, input.size), regions, arguments.integer("classes", 91));
  return std::move(b).finish();
}

}  // namespace

std::vector<Entry> faster_rcnn_entries() {
  return {{"fasterrcnn_resnet50_fpn", "Faster R-CNN on ResNet-50 with a feature pyramid", kDetection,
           "3x800x800", kFasterRcnnOptions, build_faster_rcnn}};
}

}  // namespace plimsoll::network::zoo
