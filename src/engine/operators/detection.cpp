#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/grid_sampler_2d.h>
#include <ATen/ops/stack.h>

#include "engine/operators/forms.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;

struct Box {
  float left, top, right, bottom;
  [[nodiscard]] float area() const { return (right - left) * (bottom - top); }
};

/// Corners in any order, or a centre with its extents.
Box box_at(const float* four, bool centre) {
  if (centre)
    return {four[0] - four[2] / 2, four[1] - four[3] / 2, four[0] + four[2] / 2, four[1] + four[3] / 2};
  return {std::min(four[1], four[3]), std::min(four[0], four[2]), std::max(four[1], four[3]),
          std::max(four[0], four[2])};
}

/// Intersection over union; the order of operations is torchvision's.
float overlap(const Box& a, const Box& b) {
  const float width = std::max(0.F, std::min(a.right, b.right) - std::max(a.left, b.left));
  const float height = std::max(0.F, std::min(a.bottom, b.bottom) - std::max(a.top, b.top));
  const float both = width * height;
  return both / (a.area() + b.area() - both);
}

struct Suppression {
  std::int64_t most = 0;  ///< kept per class
  float least_overlap = 0;
  std::optional<float> least_score;

  /// The boxes of one class that are kept, best first.
  [[nodiscard]] Integers kept(const std::vector<Box>& boxes, const float* scores) const {
    Integers order;
    for (std::size_t i = 0; i < boxes.size(); ++i)
      if (!std::isnan(scores[i]) && (!least_score || scores[i] > *least_score))
        order.push_back(static_cast<std::int64_t>(i));
    std::ranges::stable_sort(order,
                             [scores](std::int64_t a, std::int64_t b) { return scores[a] > scores[b]; });
    // Kept boxes by their left side: only those that reach a box's columns can overlap it. Classes are kept
    // apart by shifting their boxes, so that most of them do not.
    std::multimap<float, std::size_t> by_left;
    float widest = 0;
    Integers keep;
    for (const std::int64_t candidate : order) {
      if (static_cast<std::int64_t>(keep.size()) >= most) break;
      const Box& box = boxes[static_cast<std::size_t>(candidate)];
      const auto end = by_left.upper_bound(box.right);
      const bool dropped = std::any_of(by_left.lower_bound(box.left - widest), end, [&](const auto& near) {
        return overlap(boxes[near.second], box) > least_overlap;
      });
      if (dropped) continue;
      keep.push_back(candidate);
      if (!(box.right - box.left >= 0)) continue;  // not a number: overlaps nothing
      widest = std::max(widest, box.right - box.left);
      by_left.emplace(box.left, static_cast<std::size_t>(candidate));
    }
    return keep;
  }
};

/// On the host: how many boxes are left is what the rest of the graph must know there.
Result<Kernel> prepare_non_max_suppression(const Preparation& p) {
  return [centre = p.integer("center_point_box", 0) != 0](Call& c) {
    const Tensor boxes = c.where_it_lies(0).to(at::kCPU, at::kFloat).contiguous();
    const Tensor scores = c.where_it_lies(1).to(at::kCPU, at::kFloat).contiguous();
    TORCH_CHECK(boxes.dim() == 3 && boxes.size(2) == 4 && scores.dim() == 3 &&
                    scores.size(0) == boxes.size(0) && scores.size(2) == boxes.size(1),
                "boxes and scores of other shapes than NonMaxSuppression takes");
    Suppression s;
    if (c.has(2)) s.most = c.integers(2).at(0);
    if (c.has(3)) s.least_overlap = static_cast<float>(c.number(3));
    if (c.has(4)) s.least_score = static_cast<float>(c.number(4));
    const std::int64_t images = boxes.size(0), count = boxes.size(1), classes = scores.size(1);
    Integers rows;
    for (std::int64_t image = 0; image < images; ++image) {
      std::vector<Box> all;
      for (std::int64_t i = 0; i < count; ++i)
        all.push_back(box_at(boxes.data_ptr<float>() + (image * count + i) * 4, centre));
      for (std::int64_t k = 0; k < classes; ++k)
        for (const std::int64_t box : s.kept(all, scores.data_ptr<float>() + (image * classes + k) * count))
          rows.insert(rows.end(), {image, k, box});
    }
    Tensor selected =
        at::empty({static_cast<std::int64_t>(rows.size()) / 3, 3}, at::TensorOptions(at::kLong));
    std::ranges::copy(rows, selected.data_ptr<std::int64_t>());
    c.out(0, selected.to(c.device()));
  };
}

struct RoiAlign {
  std::int64_t height = 1, width = 1;
  std::int64_t samples = 0;  ///< per output and axis; 0: as many as the region has pixels
  double scale = 1;
  bool half_pixel = true;
  bool largest = false;  ///< mode max
};

/// One sample of a bilinear surface: four pixels and their weights. All zero outside.
struct Corners {
  std::int64_t at[4] = {0, 0, 0, 0};
  float weight[4] = {0, 0, 0, 0};
};

Corners corners_at(float y, float x, std::int64_t height, std::int64_t width) {
  Corners corners;
  const bool inside = y >= -1 && x >= -1 && y <= static_cast<float>(height) && x <= static_cast<float>(width);
  if (!inside) return corners;  // what is not a number, too
  const auto split = [](float v, std::int64_t extent) {
    v = std::max(v, 0.F);
    auto low = static_cast<std::int64_t>(v);
    if (low >= extent - 1) return std::tuple(extent - 1, extent - 1, 0.F);
    return std::tuple(low, low + 1, v - static_cast<float>(low));
  };
  const auto [y0, y1, ty] = split(y, height);
  const auto [x0, x1, tx] = split(x, width);
  const std::int64_t at[4] = {y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1};
  const float weight[4] = {(1 - ty) * (1 - tx), (1 - ty) * tx, ty * (1 - tx), ty * tx};
  std::copy_n(at, 4, corners.at);
  std::copy_n(weight, 4, corners.weight);
  return corners;
}

/// One region laid over the image: the size of an output in pixels, and how many samples it has.
struct Region {
  float top, left, cell_height, cell_width;
  std::int64_t rows, columns;
};

Region region_at(const RoiAlign& r, const float* four) {
  const auto scale = static_cast<float>(r.scale);
  const float offset = r.half_pixel ? 0.5F : 0.F;
  Region g{};
  g.left = four[0] * scale - offset;
  g.top = four[1] * scale - offset;
  float width = four[2] * scale - offset - g.left, height = four[3] * scale - offset - g.top;
  if (!r.half_pixel) {
    width = std::max(width, 1.F);
    height = std::max(height, 1.F);
  }
  g.cell_height = height / static_cast<float>(r.height);
  g.cell_width = width / static_cast<float>(r.width);
  static constexpr float kMost = 4096;  // no image has more pixels in one cell
  const auto pixels = [](float cell) {
    return cell > 0 ? static_cast<std::int64_t>(std::min(std::ceil(cell), kMost)) : 0;
  };
  g.rows = r.samples > 0 ? r.samples : pixels(g.cell_height);
  g.columns = r.samples > 0 ? r.samples : pixels(g.cell_width);
  return g;
}

float pooled(const float* plane, std::span<const Corners> samples, bool largest) {
  float result = largest ? -std::numeric_limits<float>::infinity() : 0.F;
  for (const Corners& s : samples)
    for (int k = 0; k < 4; ++k) {
      const float term = s.weight[k] * plane[s.at[k]];
      result = largest ? std::max(result, term) : result + term;
    }
  if (largest) return samples.empty() ? 0.F : result;
  return result / static_cast<float>(std::max<std::size_t>(1, samples.size()));
}

/// As torchvision does on the CPU: the samples of an output are found once, then used for every channel.
Tensor aligned_on_host(const RoiAlign& r, const Tensor& x, const Tensor& rois, const Tensor& batch) {
  const std::int64_t channels = x.size(1), height = x.size(2), width = x.size(3), plane = height * width;
  TORCH_CHECK(rois.dim() == 2 && rois.size(1) == 4 && batch.numel() == rois.size(0) && plane > 0,
              "regions of other shapes than RoiAlign takes");
  TORCH_CHECK(batch.ge(0).logical_and(batch.lt(x.size(0))).all().item<bool>(),
              "a region of an image beyond the last");
  const std::int64_t outputs = r.height * r.width;
  Tensor result = at::empty({rois.size(0), channels, r.height, r.width}, x.options());
  at::parallel_for(0, rois.size(0), 1, [&](std::int64_t first, std::int64_t last) {
    std::vector<Corners> samples;
    for (std::int64_t roi = first; roi < last; ++roi) {
      const Region g = region_at(r, rois.data_ptr<float>() + roi * 4);
      const float* image = x.data_ptr<float>() + batch.data_ptr<std::int64_t>()[roi] * channels * plane;
      float* out = result.data_ptr<float>() + roi * channels * outputs;
      for (std::int64_t cell = 0; cell < outputs; ++cell) {
        samples.clear();
        const auto row = static_cast<float>(cell / r.width), column = static_cast<float>(cell % r.width);
        for (std::int64_t i = 0; i < g.rows; ++i)
          for (std::int64_t j = 0; j < g.columns; ++j) {
            const float y = g.top + row * g.cell_height +
                            (static_cast<float>(i) + 0.5F) * g.cell_height / static_cast<float>(g.rows);
            const float z = g.left + column * g.cell_width +
                            (static_cast<float>(j) + 0.5F) * g.cell_width / static_cast<float>(g.columns);
            samples.push_back(corners_at(y, z, height, width));
          }
        for (std::int64_t k = 0; k < channels; ++k)
          out[k * outputs + cell] = pooled(image + k * plane, samples, r.largest);
      }
    }
  });
  return result;
}

/// Where the samples of each region lie along one axis, as grid_sampler counts (-1 to 1), and which of them
/// are on the image at all.
struct Line {
  Tensor place, inside;
};

Line line_of(const RoiAlign& r, const Tensor& low, const Tensor& high, std::int64_t cells,
             std::int64_t extent) {
  const double offset = r.half_pixel ? 0.5 : 0;
  const Tensor start = low.mul(r.scale).sub(offset);
  Tensor length = high.mul(r.scale).sub(offset).sub(start);
  if (!r.half_pixel) length = length.clamp_min(1);
  const std::int64_t points = cells * r.samples;
  const Tensor steps = at::arange(points, low.options()).add(0.5).div(static_cast<double>(points));
  const Tensor at = start.unsqueeze(1).add(length.unsqueeze(1).mul(steps));
  const Tensor inside = at.ge(-1).logical_and(at.le(static_cast<double>(extent)));
  const double last = static_cast<double>(std::max<std::int64_t>(extent - 1, 1));
  return {at.clamp(0, static_cast<double>(extent - 1)).mul(2 / last).sub(1), inside};
}

/// Regions of one image sample an expanded view of it.
Tensor aligned_of_image(const RoiAlign& r, const Tensor& image, const Tensor& rois) {
  const Line y = line_of(r, rois.select(1, 1), rois.select(1, 3), r.height, image.size(1));
  const Line x = line_of(r, rois.select(1, 0), rois.select(1, 2), r.width, image.size(2));
  const std::int64_t count = rois.size(0), rows = y.place.size(1), columns = x.place.size(1);
  const Tensor grid = at::stack({x.place.unsqueeze(1).expand({count, rows, columns}),
                                 y.place.unsqueeze(2).expand({count, rows, columns})},
                                -1);
  const Tensor inside = y.inside.unsqueeze(2).logical_and(x.inside.unsqueeze(1)).unsqueeze(1);
  constexpr std::int64_t kBilinear = 0, kBorder = 1;
  Tensor samples =
      at::grid_sampler_2d(image.unsqueeze(0).expand({count, -1, -1, -1}), grid, kBilinear, kBorder, true);
  return at::avg_pool2d(samples.mul_(inside), {r.samples, r.samples});
}

/// The same with ATen's kernels, for devices and gradients. The samples are several times as many as the
/// results: they are taken for a part of the regions at a time, so as not to decide the peak of memory.
Tensor aligned_on_device(const RoiAlign& r, const Tensor& x, const Tensor& rois, const Tensor& batch) {
  constexpr std::int64_t kMostSamples = std::int64_t{8} << 20;
  const std::int64_t each = x.size(1) * r.height * r.width * r.samples * r.samples;
  const std::int64_t part = std::max<std::int64_t>(1, kMostSamples / std::max<std::int64_t>(1, each));
  Tensor result = at::empty({rois.size(0), x.size(1), r.height, r.width}, x.options());
  const auto align = [&](const Tensor& image, const Tensor& own, Tensor into) {
    for (std::int64_t from = 0; from < own.size(0); from += part) {
      const std::int64_t count = std::min(part, own.size(0) - from);
      into.narrow(0, from, count).copy_(aligned_of_image(r, image, own.narrow(0, from, count)));
    }
  };
  if (x.size(0) == 1) {
    align(x.select(0, 0), rois, result);
    return result;
  }
  for (std::int64_t image = 0; image < x.size(0); ++image) {
    const Tensor which = batch.eq(image).nonzero().squeeze(1);
    Tensor own = at::empty({which.size(0), x.size(1), r.height, r.width}, x.options());
    align(x.select(0, image), rois.index_select(0, which), own);
    result = result.index_copy(0, which, own);
  }
  return result;
}

Result<Kernel> prepare_roi_align(const Preparation& p) {
  RoiAlign r;
  r.height = p.integer("output_height", 1);
  r.width = p.integer("output_width", 1);
  r.samples = p.integer("sampling_ratio", 0);
  r.scale = p.real("spatial_scale", 1);
  r.half_pixel = p.text("coordinate_transformation_mode",
                        p.opset() < 16 ? "output_half_pixel" : "half_pixel") == "half_pixel";
  r.largest = p.text("mode", "avg") == "max";
  if (r.height < 1 || r.width < 1 || r.samples < 0) return fail("regions of no elements");
  return [r](Call& c) {
    const Tensor& x = c.in(0);
    const bool learns = at::GradMode::is_enabled() && x.requires_grad();
    if (r.samples > 0 && !r.largest && (!x.is_cpu() || learns))
      return c.out(0, aligned_on_device(r, x, c.in(1).to(x.scalar_type()), c.in(2)));
    const auto host = [](const Tensor& t, at::ScalarType type) { return t.to(at::kCPU, type).contiguous(); };
    const Tensor result =
        aligned_on_host(r, host(x, at::kFloat), host(c.in(1), at::kFloat), host(c.in(2), at::kLong));
    c.out(0, result.to(x.device(), x.scalar_type()));
  };
}

constexpr auto kDetectionRows = std::to_array<OperatorRow>({
    {"NonMaxSuppression", prepare_non_max_suppression},
    {"RoiAlign", prepare_roi_align},
});

}  // namespace

std::span<const OperatorRow> detection_rows() {
  return kDetectionRows;
}

}  // namespace plimsoll::engine
