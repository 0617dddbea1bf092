#include <algorithm>

#include "network/inference.hpp"
#include "network/operators.hpp"
#include "network/rules/axes.hpp"
#include "network/rules/folding.hpp"
#include "network/rules/resizing.hpp"

namespace plimsoll::network {
namespace {

Dim extent_or_unknown(InferenceContext& c, std::size_t input, std::size_t axis, std::string_view what) {
  return c.ranked(input) && axis < c.rank(input) ? c.dims(input)[axis] : c.unknown(what, {});
}

Status non_zero(InferenceContext& c) {
  if (!c.ranked(0)) {
    c.set(0, DataType::int64, Shape{c.unknown("rank", {0, kMaxRank}), c.unknown("found", {})});
    return {};
  }
  const auto dims = c.dims(0);
  const Dim rank = Dim::of(static_cast<std::int64_t>(dims.size()));
  if (const auto values = contents(c, 0)) {
    std::int64_t found = 0;
    bool known = true;
    for (const Scalar& s : *values) {
      const Folded b = cast(c.symbols(), DataType::boolean, s);
      known = known && b;
      if (b) found += b->integer();
    }
    if (known) {
      c.set(0, DataType::int64, Shape{rank, Dim::of(found)});
      return {};
    }
  }
  c.set(0, DataType::int64, Shape{rank, c.unknown("found", {0, most_elements(c.symbols(), dims)})});
  return {};
}

/// Boxes are batch x boxes x 4, scores batch x classes x boxes; every class of every image keeps at most so
/// many boxes, and never more than there are.
Status non_max_suppression(InferenceContext& c) {
  const auto set_rows = [&c](Dim rows) { c.set(0, DataType::int64, Shape{rows, Dim::of(3)}); };
  Dim most = Dim::of(0);  // ONNX: nothing is selected unless it is said how many
  if (c.has(2)) {
    const auto limit = single(c, 2);
    most = limit && !limit->is_real() ? limit->dim() : Dim::invalid();
    if (limit && limit->is_integer() && limit->integer() <= 0) most = Dim::of(0);
  }
  if (most.is(0)) {
    set_rows(Dim::of(0));
    return {};
  }
  Symbols& symbols = c.symbols();
  const Dim unbounded = Dim::invalid();
  const Dim boxes = c.ranked(0) && c.rank(0) == 3   ? c.dims(0)[1]
                    : c.ranked(1) && c.rank(1) == 3 ? c.dims(1)[2]
                                                    : unbounded;
  const Dim batch = c.ranked(1) && c.rank(1) == 3   ? c.dims(1)[0]
                    : c.ranked(0) && c.rank(0) == 3 ? c.dims(0)[0]
                                                    : unbounded;
  const Dim classes = c.ranked(1) && c.rank(1) == 3 ? c.dims(1)[1] : unbounded;
  const Dim per_class = Dim::of(std::min(symbols.bounds(boxes).high, symbols.bounds(most).high));
  std::int64_t high = kUnbounded;
  if (batch.valid() && classes.valid())
    high = most_elements(symbols, Shape{batch, classes, per_class}.dims());
  set_rows(c.unknown("boxes", {0, high}));
  return {};
}

Status unique(InferenceContext& c) {
  const DataType type = c.type(0);
  if (!c.ranked(0)) {
    const Dim n = c.unknown("unique", {});
    if (c.attribute("axis") == nullptr)
      c.set(0, type, Shape{n});
    else
      c.set_unranked(0, type);
    c.set(1, DataType::int64, Shape{n});
    c.set(2, DataType::int64, Shape{c.unknown("elements", {})});
    c.set(3, DataType::int64, Shape{n});
    return {};
  }
  const auto dims = c.dims(0);
  Dim among = c.count(dims);
  Shape shape{among};
  std::size_t axis = 0;
  if (c.attribute("axis") != nullptr) {
    const Result<std::size_t> named = c.axis(c.integer("axis", 0), dims.size());
    PLIMSOLL_TRY(named);
    axis = *named;
    among = dims[axis];
    shape = Shape(dims);
  }
  const Interval bounds = c.symbols().bounds(among);
  const Dim n = bounds.high <= 1 && among.exact()
                    ? among
                    : c.unknown("unique", {std::min<std::int64_t>(1, bounds.low), bounds.high});
  shape[axis] = n;
  c.set(0, type, shape);
  c.set(1, DataType::int64, Shape{n});
  c.set(2, DataType::int64, Shape{among});
  c.set(3, DataType::int64, Shape{n});
  return {};
}

/// X is N x C x H x W; each of the regions gives C x height x width.
Status regions(InferenceContext& c, std::int64_t height, std::int64_t width) {
  if (height < 0 || width < 0) return fail("regions of {} by {} cannot be", height, width);
  c.set(0, c.type(0),
        Shape{extent_or_unknown(c, 1, 0, "regions"), extent_or_unknown(c, 0, 1, "channels"), Dim::of(height),
              Dim::of(width)});
  return {};
}
Status roi_align(InferenceContext& c) {
  return regions(c, c.integer("output_height", 1), c.integer("output_width", 1));
}
Status max_roi_pool(InferenceContext& c) {
  const auto pooled = c.integers("pooled_shape");
  if (pooled.size() != 2) return fail("pooled_shape has {} extents, not 2", pooled.size());
  return regions(c, pooled[0], pooled[1]);
}

/// X is N x C x D1…, the grid N x out1 x … x coordinates.
Status grid_sample(InferenceContext& c) {
  if (!c.ranked(1)) {
    if (c.ranked(0) && c.rank(0) >= 2) {
      Shape shape(c.dims(0).first(2));
      shape.append(unknown_shape(c, static_cast<std::int64_t>(c.rank(0)) - 2, kUnbounded).dims());
      c.set(0, c.type(0), shape);
    } else {
      c.set_unranked(0, c.type(0));
    }
    return {};
  }
  const auto grid = c.dims(1);
  if (grid.size() < 3 || (c.ranked(0) && c.rank(0) != grid.size()))
    return fail("the grid is {}: it does not fit the input", c.show(grid));
  Shape shape{extent_or_unknown(c, 0, 0, "batch"), extent_or_unknown(c, 0, 1, "channels")};
  if (!c.ranked(0)) shape[0] = grid[0];
  shape.append(grid.subspan(1, grid.size() - 2));
  c.set(0, c.type(0), shape);
  return {};
}

/// size is N, C, (D,) H, W; the grid is N, (D,) H, W and as many coordinates.
Status affine_grid(InferenceContext& c) {
  std::optional<std::int64_t> length = length_of(c, 1);
  if (c.has_value(1)) length = static_cast<std::int64_t>(c.value(1).size());
  // theta has a row per coordinate: 2 or 3.
  if (!length && c.ranked(0) && c.rank(0) == 3 && (c.dims(0)[1].is(2) || c.dims(0)[1].is(3)))
    length = c.dims(0)[1].value() + 2;
  if (!length) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  if (*length != 4 && *length != 5) return fail("size names {} extents, not 4 or 5", *length);
  Shape shape;
  for (std::int64_t i = 0; i < *length; ++i) {
    if (i == 1) continue;
    if (c.has_value(1))
      shape.push_back(c.value(1)[static_cast<std::size_t>(i)].dim());
    else
      shape.push_back(i == 0 ? extent_or_unknown(c, 0, 0, "batch") : c.unknown("extent", {}));
  }
  shape.push_back(Dim::of(*length - 2));
  c.set(0, c.type(0), shape);
  return {};
}

/// Texts, C or 1 x C of them; stop words are left out, but one text always remains.
Status string_normalizer(InferenceContext& c) {
  if (!c.ranked(0)) {
    c.set_unranked(0, DataType::string);
    return {};
  }
  Shape shape(c.dims(0));
  if (shape.rank() == 0) return fail("takes C or 1xC texts, not a single one");
  const Attribute* stop_words = c.attribute("stopwords");
  if (stop_words != nullptr && stop_words->list.count > 0) {
    const std::int64_t high = c.symbols().bounds(shape[shape.rank() - 1]).high;
    shape[shape.rank() - 1] = c.unknown("kept", {1, std::max<std::int64_t>(1, high)});
  }
  c.set(0, DataType::string, shape);
  return {};
}

Status string_concat(InferenceContext& c) {
  if (!c.ranked(0) || !c.ranked(1)) {
    c.set_unranked(0, DataType::string);
    return {};
  }
  const Result<Shape> shape = c.broadcast(c.dims(0), c.dims(1));
  PLIMSOLL_TRY(shape);
  c.set(0, DataType::string, *shape);
  return {};
}

Status string_split(InferenceContext& c) {
  if (!c.ranked(0)) {
    c.set_unranked(0, DataType::string);
    c.set_unranked(1, DataType::int64);
    return {};
  }
  Shape shape(c.dims(0));
  c.set(1, DataType::int64, shape);
  shape.push_back(c.unknown("parts", {}));
  c.set(0, DataType::string, shape);
  return {};
}

Status regex_full_match(InferenceContext& c) {
  if (c.ranked(0))
    c.set(0, DataType::boolean, Shape(c.dims(0)));
  else
    c.set_unranked(0, DataType::boolean);
  return {};
}

/// The last extent becomes the number of n-grams that are counted.
Status tf_idf_vectorizer(InferenceContext& c) {
  std::int64_t most = -1;
  for (const std::int64_t i : c.integers("ngram_indexes")) most = std::max(most, i);
  if (most == kUnbounded) return fail("ngram_indexes names {}", most);
  if (!c.ranked(0)) {
    c.set_unranked(0, DataType::float32);
    return {};
  }
  Shape shape;
  if (c.rank(0) == 2) shape.push_back(c.dims(0)[0]);
  shape.push_back(Dim::of(most + 1));
  c.set(0, DataType::float32, shape);
  return {};
}

constexpr OperatorInfo kSelectionOperators[] = {
    {"AffineGrid", 2, 2, 1, affine_grid},
    {"GridSample", 2, 2, 1, grid_sample},
    {"MaxRoiPool", 2, 2, 1, max_roi_pool},
    {"NonMaxSuppression", 2, 5, 1, non_max_suppression},
    {"NonZero", 1, 1, 1, non_zero},
    {"RegexFullMatch", 1, 1, 1, regex_full_match},
    {"Resize", 1, 4, 1, resize},
    {"RoiAlign", 3, 3, 1, roi_align},
    {"StringConcat", 2, 2, 1, string_concat},
    {"StringNormalizer", 1, 1, 1, string_normalizer},
    {"StringSplit", 1, 1, 2, string_split},
    {"TfIdfVectorizer", 1, 1, 1, tf_idf_vectorizer},
    {"Unique", 1, 1, 4, unique},
    {"Upsample", 1, 2, 1, upsample},
};

}  // namespace

std::span<const OperatorInfo> selection_operators() {
  return kSelectionOperators;
}

}  // namespace plimsoll::network
