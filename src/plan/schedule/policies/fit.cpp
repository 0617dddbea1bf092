// Policies that look at what is left of a GPU alone: best fit, packing, dot product, fragmentation gradient.
#include <cmath>

#include "plan/schedule/policies/policies.hpp"
#include "plan/schedule/policies/queue.hpp"

namespace plimsoll::plan::schedule {
namespace {

double free_share(const View& view, std::size_t place) {
  return 1 - share_taken(view, place);
}
double free_memory(const View& view, std::size_t place) {
  return static_cast<double>((view.instance.places[place].memory - view.places[place].memory).count()) /
         static_cast<double>(std::max<std::int64_t>(1, view.instance.places[place].memory.count()));
}

/// The share of a place that is left and that a kind, drawn from all jobs, could not use.
double fragmented(const View& view, double share, double memory) {
  double out = 0, all = 0;
  for (const Kind& kind : view.instance.kinds) {
    const double need = kind.memory ? static_cast<double>(kind.memory->count()) /
                                          static_cast<double>(view.instance.places.front().memory.count())
                                    : 1;
    if (kind.share > share + 1e-9 || need > memory) out += share;
    all += 1;
  }
  return all > 0 ? out / all : 0;
}

}  // namespace

std::unique_ptr<Policy> best_fit_policy(const Instance&) {
  return std::make_unique<FitPolicy>(
      [](const View& view, std::size_t job, std::size_t place) -> std::optional<double> {
        if (!has_share(view, job, place)) return std::nullopt;
        return -(free_share(view, place) + free_memory(view, place));
      },
      true);
}

std::unique_ptr<Policy> packing_policy(const Instance&) {
  return std::make_unique<FitPolicy>(
      [](const View& view, std::size_t job, std::size_t place) -> std::optional<double> {
        if (!has_share(view, job, place)) return std::nullopt;
        return static_cast<double>(view.places[place].running.size());
      },
      true);
}

std::unique_ptr<Policy> dot_product_policy(const Instance&) {
  return std::make_unique<FitPolicy>(
      [](const View& view, std::size_t job, std::size_t place) -> std::optional<double> {
        if (!has_share(view, job, place)) return std::nullopt;
        const Kind& kind = view.instance.kinds[view.instance.jobs[job].kind];
        const double memory = kind.memory ? static_cast<double>(kind.memory->count()) : 0;
        return kind.share * free_share(view, place) +
               memory / static_cast<double>(view.instance.places[place].memory.count()) *
                   free_memory(view, place);
      },
      true);
}

std::unique_ptr<Policy> fragmentation_policy(const Instance&) {
  return std::make_unique<FitPolicy>(
      [](const View& view, std::size_t job, std::size_t place) -> std::optional<double> {
        if (!has_share(view, job, place)) return std::nullopt;
        const Kind& kind = view.instance.kinds[view.instance.jobs[job].kind];
        const double share = free_share(view, place), memory = free_memory(view, place);
        const double need = kind.memory ? static_cast<double>(kind.memory->count()) /
                                              static_cast<double>(view.instance.places[place].memory.count())
                                        : 0;
        return fragmented(view, share, memory) - fragmented(view, share - kind.share, memory - need);
      },
      true);
}

}  // namespace plimsoll::plan::schedule
