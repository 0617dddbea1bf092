#include "network/rules/extents.hpp"
#include "network/rules/fused.hpp"

namespace plimsoll::network {

/// Inputs: rows (rows x width, or batch x tokens x width), the router's logits (rows x experts), then for
/// each of two or three layers a stacked weight (experts first) and an optional bias.
Status fused_experts(InferenceContext& c) {
  set_like(c, 0, 0, c.type(0));
  const Result<std::int64_t> chosen = positive_attribute(c, "k", 1);
  PLIMSOLL_TRY(chosen);
  if (!c.ranked(0) || !c.ranked(1)) return {};
  const auto rows = c.dims(0), logits = c.dims(1);
  if (rows.size() != 2 && rows.size() != 3)
    return fail("the rows have the shape {}; they must have 2 or 3 dimensions", c.show(rows));
  if (logits.size() != 2)
    return fail("the router's logits have the shape {}; they must have 2 dimensions", c.show(logits));
  if (logits[1].exact() && *chosen > logits[1].value())
    return fail("{} of {} experts cannot be chosen", *chosen, logits[1].value());
  for (const std::size_t weight : {2, 4, 6}) {
    if (!c.has(weight) || !c.ranked(weight)) continue;
    const auto w = c.dims(weight);
    if (w.size() != 3) return fail("input {} has the shape {}; it must have 3 dimensions", weight, c.show(w));
    if (differ(w[0], logits[1]))
      return fail("input {} has the weights of {} experts; the router knows {}", weight, w[0].value(),
                  logits[1].value());
    // Files have either order of what goes in and what comes out.
    if (differ(w[1], rows.back()) && differ(w[2], rows.back()))
      return fail("input {} has the shape {}; none of it is the rows' width {}", weight, c.show(w),
                  rows.back().value());
  }
  return {};
}

}  // namespace plimsoll::network
