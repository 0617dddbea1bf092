#include "report/probe_words.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace plimsoll::report {

using probe::Method;
using probe::Place;
using probe::Workers;

std::string_view name(Place place) {
  switch (place) {
    case Place::cpu: return "cpu";
    case Place::gpu_copies: return "gpu-copies";
    case Place::gpu_managed: return "gpu-managed";
    case Place::gpu_managed_prefetch: return "gpu-managed-prefetch";
  }
  return "";
}

std::string_view name(Workers workers) {
  switch (workers) {
    case Workers::one_thread: return "one-thread";
    case Workers::all_threads: return "all-threads";
    case Workers::one_block: return "one-block";
    case Workers::many_blocks: return "many-blocks";
  }
  return "";
}

std::string_view name(Method method) {
  switch (method) {
    case Method::naive: return "naive";
    case Method::blocked: return "blocked";
    case Method::library: return "library";
  }
  return "";
}

std::string_view words(Place place) {
  switch (place) {
    case Place::cpu: return "CPU";
    case Place::gpu_copies: return "GPU, copies";
    case Place::gpu_managed: return "GPU, unified";
    case Place::gpu_managed_prefetch: return "GPU, unified, prefetched";
  }
  return "";
}

std::string_view words(Workers workers) {
  switch (workers) {
    case Workers::one_thread: return "one thread";
    case Workers::all_threads: return "all threads";
    case Workers::one_block: return "one block";
    case Workers::many_blocks: return "many blocks";
  }
  return "";
}

std::string_view words(Method method, bool gpu) {
  switch (method) {
    case Method::naive: return gpu ? "a thread per element" : "three loops";
    case Method::blocked: return gpu ? "tiles in shared memory" : "blocks in the caches";
    case Method::library: return "library";
  }
  return "";
}

std::string figure_text(double value, std::string_view unit) {
  if (unit == "s") return text(Seconds(value));
  // Joules by FLOP and by byte are below the smallest prefix that times have.
  if (unit.starts_with("J/") && value > 0 && value < 1e-9)
    return fmt::format("{:.3g} p{}", value * 1e12, unit);
  return si_text(value, unit);
}

std::string percent_text(double share) {
  const double percent = 100 * share;
  return fmt::format("{:.{}f} %", percent, percent < 9.995 ? 2 : 1);
}

}  // namespace plimsoll::report
