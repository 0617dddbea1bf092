// Any bytes, taken for models that take turns in a memory (TOML, JSON) and for frames in CSV, must give what
// they say, or errors that say where; and what they share must be joined or refused.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string_view>

#include "swap_models.hpp"

using namespace plimsoll;

namespace {

/// Each with two tensors, whatever model it names.
void check_sharing(const SwapModels& read) {
  std::vector<swapping::WeighedModel> models;
  for (const SwapModelRequest& model : read.models)
    models.push_back({.model = {model.workload.name, {{{0, 1}, Seconds(1e-3)}}, {}},
                      .tensors = {{"w", Bytes(1000), {250}}, {"layer.w", Bytes(4000), {10, 100}}}});
  const auto joined = swapping::joined(models, read.shared);
  if (!joined) {
    if (joined.error().empty()) std::abort();
    return;
  }
  const swapping::Packed packed = swapping::pack(*joined, Bytes(512));
  if (packed.blocks > swapping::pack(swapping::apart(*joined), Bytes(512)).blocks +
                          static_cast<std::int64_t>(2 * joined->tensors.size()))
    std::abort();
}

void check_models(std::string_view text, const char* name) {
  const auto read = read_swap_models(text, name);
  if (!read) {
    if (read.error().empty()) std::abort();
    return;
  }
  std::set<std::string> names;
  for (const SwapModelRequest& model : read->models) {
    if (!names.insert(model.workload.name).second || model.workload.model.empty()) std::abort();
    if (model.rate && !(*model.rate > 0)) std::abort();
    if (model.limit && !(*model.limit > Seconds())) std::abort();
    if (model.accuracy && !(*model.accuracy >= 0 && *model.accuracy <= 1)) std::abort();
  }
  check_sharing(*read);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libFuzzer hands bytes, a file holds
  // characters
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_models(text, "models.toml");
  check_models(text, "models.json");
  const auto frames = read_swap_requests(text, {"front", "plate"});
  if (!frames && frames.error().empty()) std::abort();
  if (frames)
    for (const swapping::Request& frame : *frames)
      if (frame.model > 1 || !std::isfinite(frame.arrival.value()) || frame.arrival < Seconds()) std::abort();
  return 0;
}
