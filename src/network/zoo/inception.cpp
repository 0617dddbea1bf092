#include <initializer_list>
#include <string>

#include <fmt/format.h>

#include "network/zoo/blocks.hpp"
#include "network/zoo/families.hpp"

namespace plimsoll::network::zoo {
namespace {

// torchvision's BasicConv2d: a convolution without bias, batch normalisation, ReLU.
Image unit(Blocks& b, const std::string& name, Image x, const Convolution& c) {
  x = b.batch_norm(name + ".bn", b.conv(name + ".conv", x, c), 0.001);
  return b.activate(name + ".relu", x, Activation::relu);
}

struct Step {
  std::string_view name;
  Convolution conv;
};
Image chain(Blocks& b, const std::string& prefix, Image x, std::initializer_list<Step> steps) {
  for (const Step& step : steps) x = unit(b, fmt::format("{}.{}", prefix, step.name), x, step.conv);
  return x;
}

Image join(Blocks& b, const std::string& name, std::initializer_list<Image> branches) {
  return b.concat(name, std::span(branches.begin(), branches.size()));
}

// ---- GoogLeNet: Szegedy et al. 2014. torchvision's "5x5" branch has 3x3 kernels; the weights say so.

struct Module {
  std::string_view name;
  std::int64_t one, three_reduce, three, five_reduce, five, pool;
  bool pool_before = false;
};
constexpr Module kModules[] = {
    {"inception3a", 64, 96, 128, 16, 32, 32},         {"inception3b", 128, 128, 192, 32, 96, 64},
    {"inception4a", 192, 96, 208, 16, 48, 64, true},  {"inception4b", 160, 112, 224, 24, 64, 64},
    {"inception4c", 128, 128, 256, 24, 64, 64},       {"inception4d", 112, 144, 288, 32, 64, 64},
    {"inception4e", 256, 160, 320, 32, 128, 128},     {"inception5a", 256, 160, 320, 32, 128, 128, true},
    {"inception5b", 384, 192, 384, 48, 128, 128},
};

Image module(Blocks& b, const Module& m, Image x) {
  const std::string name(m.name);
  const Image one = unit(b, name + ".branch1", x, {.out = m.one});
  const Image three = chain(b, name, x, {{"branch2.0", {.out = m.three_reduce}},
                                         {"branch2.1", {.out = m.three, .kernel = 3, .pad = 1}}});
  const Image five = chain(b, name, x, {{"branch3.0", {.out = m.five_reduce}},
                                        {"branch3.1", {.out = m.five, .kernel = 3, .pad = 1}}});
  const Image pooled = b.max_pool(name + ".branch4.0", x, {.kernel = 3, .stride = 1, .pad = 1, .ceil = true});
  return join(b, name, {one, three, five, unit(b, name + ".branch4.1", pooled, {.out = m.pool})});
}

Result<Network> build_googlenet(const Entry& entry, const Arguments& arguments, Mode mode) {
  constexpr Pooling kHalve{.kernel = 3, .stride = 2, .ceil = true};
  Blocks b(entry.name, mode);
  Image x = b.image_input("input", arguments.image());
  x = unit(b, "conv1", x, {.out = 64, .kernel = 7, .stride = 2, .pad = 3});
  x = b.max_pool("maxpool1", x, kHalve);
  x = unit(b, "conv2", x, {.out = 64});
  x = unit(b, "conv3", x, {.out = 192, .kernel = 3, .pad = 1});
  x = b.max_pool("maxpool2", x, kHalve);
  for (const Module& m : kModules) {
    if (m.pool_before)
      x = m.name == "inception4a" ? b.max_pool("maxpool3", x, kHalve)
                                  : b.max_pool("maxpool4", x, {.kernel = 2, .stride = 2, .ceil = true});
    x = module(b, m, x);
  }
  Features f = b.flatten("flatten", b.global_average_pool("avgpool", x));
  f.id = b.dropout("dropout", f.id, 0.2);
  b.output(b.linear("fc", f, arguments.integer("classes", 1000)).id);
  return std::move(b).finish();
}

// ---- Inception v3: Szegedy et al. 2015; modules named as torchvision names them.

Image pooled(Blocks& b, const std::string& name, Image x, std::int64_t out) {
  const Image p = b.average_pool(name + ".avg_pool", x, {.kernel = 3, .stride = 1, .pad = 1});
  return unit(b, name + ".branch_pool", p, {.out = out});
}

Image inception_a(Blocks& b, const std::string& name, Image x, std::int64_t pool) {
  const Image one = unit(b, name + ".branch1x1", x, {.out = 64});
  const Image five = chain(b, name, x, {{"branch5x5_1", {.out = 48}}, {"branch5x5_2", {.out = 64, .kernel = 5, .pad = 2}}});
  const Image twice = chain(b, name, x, {{"branch3x3dbl_1", {.out = 64}},
                                         {"branch3x3dbl_2", {.out = 96, .kernel = 3, .pad = 1}},
                                         {"branch3x3dbl_3", {.out = 96, .kernel = 3, .pad = 1}}});
  return join(b, name, {one, five, twice, pooled(b, name, x, pool)});
}

Image inception_b(Blocks& b, const std::string& name, Image x) {
  const Image three = unit(b, name + ".branch3x3", x, {.out = 384, .kernel = 3, .stride = 2});
  const Image twice = chain(b, name, x, {{"branch3x3dbl_1", {.out = 64}},
                                         {"branch3x3dbl_2", {.out = 96, .kernel = 3, .pad = 1}},
                                         {"branch3x3dbl_3", {.out = 96, .kernel = 3, .stride = 2}}});
  return join(b, name, {three, twice, b.max_pool(name + ".max_pool", x, {.kernel = 3, .stride = 2})});
}

Convolution row(std::int64_t out, std::int64_t length) { return {.out = out, .kernel = {1, length}, .pad = {0, length / 2}}; }
Convolution column(std::int64_t out, std::int64_t length) { return {.out = out, .kernel = {length, 1}, .pad = {length / 2, 0}}; }

Image inception_c(Blocks& b, const std::string& name, Image x, std::int64_t c) {
  const Image one = unit(b, name + ".branch1x1", x, {.out = 192});
  const Image seven = chain(b, name, x, {{"branch7x7_1", {.out = c}}, {"branch7x7_2", row(c, 7)}, {"branch7x7_3", column(192, 7)}});
  const Image twice = chain(b, name, x, {{"branch7x7dbl_1", {.out = c}},
                                         {"branch7x7dbl_2", column(c, 7)},
                                         {"branch7x7dbl_3", row(c, 7)},
                                         {"branch7x7dbl_4", column(c, 7)},
                                         {"branch7x7dbl_5", row(192, 7)}});
  return join(b, name, {one, seven, twice, pooled(b, name, x, 192)});
}

Image inception_d(Blocks& b, const std::string& name, Image x) {
  const Image three = chain(b, name, x, {{"branch3x3_1", {.out = 192}}, {"branch3x3_2", {.out = 320, .kernel = 3, .stride = 2}}});
  const Image seven = chain(b, name, x, {{"branch7x7x3_1", {.out = 192}},
                                         {"branch7x7x3_2", row(192, 7)},
                                         {"branch7x7x3_3", column(192, 7)},
                                         {"branch7x7x3_4", {.out = 192, .kernel = 3, .stride = 2}}});
  return join(b, name, {three, seven, b.max_pool(name + ".max_pool", x, {.kernel = 3, .stride = 2})});
}

Image inception_e(Blocks& b, const std::string& name, Image x) {
  const Image one = unit(b, name + ".branch1x1", x, {.out = 320});
  const Image three = unit(b, name + ".branch3x3_1", x, {.out = 384});
  const Image three_both = join(b, name + ".branch3x3", {unit(b, name + ".branch3x3_2a", three, row(384, 3)),
                                                         unit(b, name + ".branch3x3_2b", three, column(384, 3))});
  const Image twice = chain(b, name, x, {{"branch3x3dbl_1", {.out = 448}},
                                         {"branch3x3dbl_2", {.out = 384, .kernel = 3, .pad = 1}}});
  const Image twice_both = join(b, name + ".branch3x3dbl", {unit(b, name + ".branch3x3dbl_3a", twice, row(384, 3)),
                                                            unit(b, name + ".branch3x3dbl_3b", twice, column(384, 3))});
  return join(b, name, {one, three_both, twice_both, pooled(b, name, x, 192)});
}

// The second classifier helps training only, yet its weights stay with the model.
TensorId auxiliary(Blocks& b, Image x, std::int64_t classes) {
  b.weights_only(!b.training());
  x = b.average_pool("AuxLogits.avg_pool", x, {.kernel = 5, .stride = 3});
  x = unit(b, "AuxLogits.conv0", x, {.out = 128});
  x = unit(b, "AuxLogits.conv1", x, {.out = 768, .kernel = 5});
  const Features f = b.flatten("AuxLogits.flatten", b.global_average_pool("AuxLogits.avgpool", x));
  const TensorId logits = b.linear("AuxLogits.fc", f, classes).id;
  b.weights_only(false);
  return logits;
}

Result<Network> build_inception_v3(const Entry& entry, const Arguments& arguments, Mode mode) {
  const std::int64_t classes = arguments.integer("classes", 1000);
  Blocks b(entry.name, mode);
  Image x = b.image_input("input", arguments.image());
  x = unit(b, "Conv2d_1a_3x3", x, {.out = 32, .kernel = 3, .stride = 2});
  x = unit(b, "Conv2d_2a_3x3", x, {.out = 32, .kernel = 3});
  x = unit(b, "Conv2d_2b_3x3", x, {.out = 64, .kernel = 3, .pad = 1});
  x = b.max_pool("maxpool1", x, {.kernel = 3, .stride = 2});
  x = unit(b, "Conv2d_3b_1x1", x, {.out = 80});
  x = unit(b, "Conv2d_4a_3x3", x, {.out = 192, .kernel = 3});
  x = b.max_pool("maxpool2", x, {.kernel = 3, .stride = 2});
  x = inception_a(b, "Mixed_5b", x, 32);
  x = inception_a(b, "Mixed_5c", x, 64);
  x = inception_a(b, "Mixed_5d", x, 64);
  x = inception_b(b, "Mixed_6a", x);
  x = inception_c(b, "Mixed_6b", x, 128);
  x = inception_c(b, "Mixed_6c", x, 160);
  x = inception_c(b, "Mixed_6d", x, 160);
  x = inception_c(b, "Mixed_6e", x, 192);
  const TensorId aux = auxiliary(b, x, classes);
  x = inception_d(b, "Mixed_7a", x);
  x = inception_e(b, "Mixed_7b", x);
  x = inception_e(b, "Mixed_7c", x);
  x = b.global_average_pool("avgpool", x);
  x.id = b.dropout("dropout", x.id, 0.5);
  b.output(b.linear("fc", b.flatten("flatten", x), classes).id);
  b.output(aux);
  return std::move(b).finish();
}

}  // namespace

std::vector<Entry> inception_entries() {
  return {{"googlenet", "GoogLeNet without its auxiliary classifiers", kClassification, "3x224x224", kClassifierOptions, build_googlenet},
          {"inception_v3", "Inception v3", kClassification, "3x299x299", kClassifierOptions, build_inception_v3}};
}

}  // namespace plimsoll::network::zoo
