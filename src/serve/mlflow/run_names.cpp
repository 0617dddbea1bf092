#include "serve/mlflow/run_names.hpp"

#include <array>
#include <random>
#include <string_view>

#include <fmt/format.h>

namespace plimsoll::serve::mlflow {
namespace {

/// Among MLflow's own, by which its users know a name that was made up.
constexpr std::array<std::string_view, 32> kAdjectives = {
    "able",      "bold",      "bright",   "calm",     "capable",    "chill",    "clean",     "dapper",
    "dashing",   "efficient", "fearless", "gentle",   "gifted",     "handsome", "honorable", "kindly",
    "luminous",  "nimble",    "orderly",  "peaceful", "persistent", "placid",   "polite",    "powerful",
    "resilient", "salty",     "silent",   "sincere",  "stately",    "trusting", "upbeat",    "wise"};
constexpr std::array<std::string_view, 32> kNouns = {
    "anchor", "auk",   "beam",  "bell",  "boom", "bow",  "brig",  "buoy",  "cape", "cod",   "crane",
    "cutter", "draft", "eel",   "fjord", "gale", "gull", "heron", "hull",  "keel", "ketch", "kelp",
    "mast",   "otter", "pilot", "reef",  "sail", "seal", "shoal", "sloop", "tern", "tide"};

}  // namespace

std::string made_up_name(std::uint64_t seed) {
  return fmt::format("{}-{}-{}", kAdjectives[seed % kAdjectives.size()], kNouns[seed / 32 % kNouns.size()],
                     seed / 1024 % 1000);
}

std::string made_up_name() {
  std::random_device system;
  return made_up_name(static_cast<std::uint64_t>(system()) << 32U | system());
}

}  // namespace plimsoll::serve::mlflow
