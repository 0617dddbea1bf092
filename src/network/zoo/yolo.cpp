#include <string>
#include <vector>

#include <fmt/format.h>

#include "network/zoo/blocks.hpp"
#include "network/zoo/families.hpp"

namespace plimsoll::network::zoo {
namespace {

// Redmon and Farhadi 2018. Layers are numbered as the sections of darknet's yolov3.cfg and yolov3-tiny.cfg.
constexpr std::int64_t kYoloAnchors = 3;
constexpr Option kYoloOptions[] = {
    kInput,
    kChannels,
    {"classes", "how many classes the heads tell apart", "80", Option::Kind::integer, 1, 1e6}};

class Darknet {
 public:
  Darknet(const Entry& entry, const Arguments& arguments, Mode mode, std::int64_t multiple)
      : b_(entry.name, mode),
        classes_(arguments.integer("classes", 80)),
        x_(b_.image_input("input", arguments.image())) {
    if (x_.size.height % multiple != 0 || x_.size.width % multiple != 0)
      b_.refuse(fmt::format("the input's sides {}x{} are not multiples of {}", x_.size.height, x_.size.width,
                            multiple));
  }

  [[nodiscard]] Image here() const { return x_; }
  void convolution(std::int64_t out, std::int64_t kernel, std::int64_t stride = 1) {
    const std::string name = next();
    x_ = b_.conv(name + ".conv", x_, {.out = out, .kernel = kernel, .stride = stride, .pad = kernel / 2});
    x_ = b_.activate(name + ".leaky", b_.batch_norm(name + ".batch_norm", x_), Activation::leaky_relu);
  }
  void residual(std::int64_t out) {
    const Image start = x_;
    convolution(out / 2, 1);
    convolution(out, 3);
    x_ = b_.sum(next() + ".shortcut", x_, start);
  }
  // Stride 1 keeps the sides: darknet pads at the end.
  void max_pool(std::int64_t stride) {
    Pooling p{.kernel = 2, .stride = stride};
    if (stride == 1) p.pad_end = Size(1);
    x_ = b_.max_pool(next() + ".maxpool", x_, p);
  }
  void route(Image to) {
    next();
    x_ = to;
  }
  void upsample_and_join(Image with) {
    x_ = b_.upsample(next() + ".upsample", x_, {x_.size.height * 2, x_.size.width * 2});
    const Image both[] = {x_, with};
    x_ = b_.concat(next() + ".route", both);
  }
  void head() {
    const std::string name = next();
    x_ = b_.conv(name + ".conv", x_, {.out = kYoloAnchors * (classes_ + 5), .bias = true});
    heads_.push_back(b_.training() ? x_.id : decode(next()));
  }
  [[nodiscard]] Result<Network> finish() && {
    // Training takes the raw heads to its loss; inference gives batch x boxes x (4 + 1 + classes).
    if (b_.training())
      for (const TensorId head : heads_) b_.output(head);
    else
      b_.output(b_.add("Concat", "detections", heads_, {{"axis", 1}}));
    return std::move(b_).finish();
  }

 private:
  std::string next() { return fmt::format("module_list.{}", index_++); }

  // Centre, size, objectness and classes of each box, in pixels: darknet's yolo layer.
  TensorId decode(const std::string& name) {
    const std::int64_t cells = x_.size.height * x_.size.width;
    const std::int64_t values = classes_ + 5;
    const TensorId split =
        b_.add("Reshape", name + ".view", {x_.id, b_.integers({0, kYoloAnchors, values, cells})});
    const TensorId turned = b_.add("Transpose", name + ".permute", {split}, {{"perm", {0, 1, 3, 2}}});
    const TensorId rows =
        b_.add("Reshape", name + ".reshape", {turned, b_.integers({0, kYoloAnchors * cells, values})});
    const auto parts =
        b_.add_many("Split", name + ".split", {rows, b_.integers({2, 2, values - 4})}, 3, {{"axis", 2}});
    const TensorId grid = b_.builder().buffer(name + ".grid", {1, kYoloAnchors * cells, 2});
    const TensorId anchors = b_.builder().buffer(name + ".anchors", {1, kYoloAnchors * cells, 2});
    const TensorId moved =
        b_.add("Add", name + ".add", {b_.add("Sigmoid", name + ".sigmoid", {parts[0]}), grid});
    const TensorId centre = b_.add("Mul", name + ".mul", {moved, b_.builder().buffer(name + ".stride", {})});
    const TensorId size = b_.add("Mul", name + ".mul_1", {b_.add("Exp", name + ".exp", {parts[1]}), anchors});
    const TensorId scores = b_.add("Sigmoid", name + ".sigmoid_1", {parts[2]});
    return b_.add("Concat", name + ".yolo", {centre, size, scores}, {{"axis", 2}});
  }

  Blocks b_;
  std::int64_t classes_;
  Image x_;
  int index_ = 0;
  std::vector<TensorId> heads_;
};

// Five convolutions, and a sixth before the head; the next scale starts from the fifth.
Image detect(Darknet& d, std::int64_t width) {
  for (int i = 0; i < 2; ++i) {
    d.convolution(width, 1);
    d.convolution(2 * width, 3);
  }
  d.convolution(width, 1);
  const Image fifth = d.here();
  d.convolution(2 * width, 3);
  d.head();
  return fifth;
}

Result<Network> build_yolov3(const Entry& entry, const Arguments& arguments, Mode mode) {
  struct DarknetStage {
    std::int64_t width;
    int residuals;
  };
  constexpr DarknetStage kDarknet53[] = {{64, 1}, {128, 2}, {256, 8}, {512, 8}, {1024, 4}};
  Darknet d(entry, arguments, mode, 32);
  d.convolution(32, 3);
  std::vector<Image> ends;
  for (const DarknetStage& stage : kDarknet53) {
    d.convolution(stage.width, 3, 2);
    for (int i = 0; i < stage.residuals; ++i) d.residual(stage.width);
    ends.push_back(d.here());
  }
  const Image coarse = detect(d, 512);
  d.route(coarse);
  d.convolution(256, 1);
  d.upsample_and_join(ends[3]);
  const Image middle = detect(d, 256);
  d.route(middle);
  d.convolution(128, 1);
  d.upsample_and_join(ends[2]);
  detect(d, 128);
  return std::move(d).finish();
}

Result<Network> build_yolov3_tiny(const Entry& entry, const Arguments& arguments, Mode mode) {
  Darknet d(entry, arguments, mode, 32);
  Image fine;
  for (const std::int64_t width : {16, 32, 64, 128, 256, 512}) {
    d.convolution(width, 3);
    if (width == 256) fine = d.here();
    d.max_pool(width == 512 ? 1 : 2);
  }
  d.convolution(1024, 3);
  d.convolution(256, 1);
  const Image coarse = d.here();
  d.convolution(512, 3);
  d.head();
  d.route(coarse);
  d.convolution(128, 1);
  d.upsample_and_join(fine);
  d.convolution(256, 3);
  d.head();
  return std::move(d).finish();
}

}  // namespace

std::vector<Entry> yolo_entries() {
  return {{"yolov3", "YOLOv3 on Darknet-53", kDetection, "3x416x416", kYoloOptions, build_yolov3},
          {"yolov3_tiny", "Tiny YOLOv3", kDetection, "3x416x416", kYoloOptions, build_yolov3_tiny}};
}

}  // namespace plimsoll::network::zoo
