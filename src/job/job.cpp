#include "job/job.hpp"

#include <array>

#include <fmt/format.h>

#include "base/named.hpp"

namespace plimsoll::job {
namespace {

constexpr std::array<std::string_view, 8> kTasks = {"check",   "compute",   "examine", "train",
                                                    "measure", "calibrate", "join",    "swap"};
constexpr std::array<std::string_view, 5> kArrivals = {"none", "single-stream", "multi-stream", "server",
                                                       "offline"};

}  // namespace

std::string_view name(Task task) {
  return kTasks[static_cast<std::size_t>(task)];
}
std::string_view name(Arrival arrival) {
  return kArrivals[static_cast<std::size_t>(arrival)];
}
std::optional<Task> task_named(std::string_view name) {
  return named<Task>(name, kTasks);
}
std::string member_file(std::size_t member) {
  return fmt::format("member-{}.safetensors", member);
}
std::optional<Arrival> arrival_named(std::string_view name) {
  return named<Arrival>(name, kArrivals);
}

}  // namespace plimsoll::job
