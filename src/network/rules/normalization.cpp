#include "network/inference.hpp"
#include "network/operators.hpp"
#include "network/rules/extents.hpp"

namespace plimsoll::network {
namespace {

/// One number per channel: scale, bias and statistics of inputs 1 to `last`.
Status check_channels(InferenceContext& c, std::size_t last) {
  if (!c.ranked(0) || c.rank(0) < 2) return {};
  const Dim channels = c.dims(0)[1];
  for (std::size_t i = 1; i <= last; ++i)
    if (c.ranked(i) && (c.rank(i) != 1 || differ(c.dims(i)[0], channels)))
      return fail("the input {} has {} channels; input {} has the shape {}", c.show(c.dims(0)),
                  c.symbols().text(channels), i, c.show(c.dims(i)));
  return {};
}

Status batch_normalization(InferenceContext& c) {
  PLIMSOLL_TRY(check_channels(c, 4));
  set_like(c, 0, 0, c.type(0));
  // Opset 14 gives back the running statistics; before, two outputs of the batch's own followed.
  for (std::size_t i = 1; i < c.outputs(); ++i) {
    const std::size_t source = i % 2 == 1 ? 3 : 4;
    set_like(c, i, source, c.type(source));
  }
  return {};
}

Status instance_normalization(InferenceContext& c) {
  PLIMSOLL_TRY(check_channels(c, 2));
  return like_first(c);
}

/// Mean and inverse deviation keep the rank; the normalised extents become 1.
Status layer_normalization(InferenceContext& c) {
  const Result<DataType> stash = type_attribute(c, "stash_type", DataType::float32);
  PLIMSOLL_TRY(stash);
  set_like(c, 0, 0, c.type(0));
  if (!c.ranked(0)) {
    for (std::size_t i = 1; i < c.outputs(); ++i) c.set_unranked(i, *stash);
    return {};
  }
  Shape statistics(c.dims(0));
  const Result<std::size_t> axis = InferenceContext::axis(c.integer("axis", -1), statistics.rank());
  PLIMSOLL_TRY(axis);
  for (std::size_t i = *axis; i < statistics.rank(); ++i) statistics[i] = Dim::of(1);
  for (std::size_t i = 1; i < c.outputs(); ++i) c.set(i, *stash, statistics);
  return {};
}

Status group_normalization(InferenceContext& c) {
  const Result<std::int64_t> groups = positive_attribute(c, "num_groups", 1);
  PLIMSOLL_TRY(groups);
  if (c.ranked(0) && c.rank(0) >= 2)
    if (const Dim channels = c.dims(0)[1]; channels.exact() && channels.value() % *groups != 0)
      return fail("{} channels cannot be divided into {} groups", channels.value(), *groups);
  return like_first(c);
}

Status softmax(InferenceContext& c) {
  if (c.ranked(0) && c.rank(0) > 0) {
    const std::int64_t axis = c.integer("axis", c.opset() < 13 ? 1 : -1);
    // Before opset 13 the input was seen as a matrix, which an axis behind the last one may end.
    if (c.opset() >= 13 || axis != static_cast<std::int64_t>(c.rank(0)))
      PLIMSOLL_TRY(InferenceContext::axis(axis, c.rank(0)));
  }
  return like_first(c);
}

Status dropout(InferenceContext& c) {
  set_like(c, 0, 0, c.type(0));
  set_like(c, 1, 0, c.opset() < 10 ? c.type(0) : DataType::boolean);
  return {};
}

/// Losses of scores (N, C, d…) against labels (N, d…).
Status loss(InferenceContext& c) {
  const std::string_view reduction = c.text("reduction", "mean");
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    return fail("reduction is '{}', which is not none, mean or sum", reduction);
  set_like(c, 1, 0, c.type(0));  // SoftmaxCrossEntropyLoss's log_prob
  if (c.ranked(0) && c.rank(0) < 2)
    return fail("the scores have the shape {}; batch and classes are needed", c.show(c.dims(0)));
  if (c.ranked(0) && c.ranked(1)) {
    const auto scores = c.dims(0), labels = c.dims(1);
    bool fits = labels.size() + 1 == scores.size();
    for (std::size_t i = 0; fits && i < labels.size(); ++i)
      fits = !differ(labels[i], scores[i == 0 ? 0 : i + 1]);
    if (!fits) return fail("scores {} do not fit labels {}", c.show(scores), c.show(labels));
  }
  if (reduction != "none") {
    c.set(0, c.type(0), {});
  } else if (c.ranked(0)) {
    Shape each{c.dims(0)[0]};
    each.append(c.dims(0).subspan(2));
    c.set(0, c.type(0), each);
  } else {
    set_like(c, 0, 1, c.type(0));
  }
  return {};
}

constexpr OperatorInfo kNormalizationOperators[] = {
    {"BatchNormalization", 5, 5, 5, batch_normalization},
    {"Dropout", 1, 3, 2, dropout},
    {"GroupNormalization", 3, 3, 1, group_normalization},
    {"Hardmax", 1, 1, 1, softmax},
    {"InstanceNormalization", 3, 3, 1, instance_normalization},
    {"LRN", 1, 1, 1, like_first},
    {"LayerNormalization", 2, 3, 3, layer_normalization},
    {"LogSoftmax", 1, 1, 1, softmax},
    {"LpNormalization", 1, 1, 1, like_first},
    {"MeanVarianceNormalization", 1, 1, 1, like_first},
    {"NegativeLogLikelihoodLoss", 2, 3, 1, loss},
    {"RMSNormalization", 2, 2, 1, like_first},
    {"Softmax", 1, 1, 1, softmax},
    {"SoftmaxCrossEntropyLoss", 2, 3, 2, loss},
};

}  // namespace

std::span<const OperatorInfo> normalization_operators() {
  return kNormalizationOperators;
}

}  // namespace plimsoll::network
