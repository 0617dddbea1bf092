#include "diagnose/series.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace plimsoll::diagnose {
namespace {

/// Two samples further apart than this many usual periods have a gap between them: a single frame that came
/// late or was lost is none yet.
constexpr double kGapPeriods = 3.5;
/// The sampling also tells of frames that came a little late: those are no gap either.
constexpr double kDeclaredGapPeriods = 1.9;
constexpr double kMicrosecond = 1e-6;

double usual_period(std::span<const Sample> samples) {
  if (samples.size() < 2) return 0;
  std::vector<double> between;
  // A thousand of them say as much as all.
  const std::size_t stride = std::max<std::size_t>(1, samples.size() / 1000);
  for (std::size_t i = 1; i < samples.size(); i += stride)
    between.push_back(samples[i].span.to - samples[i - 1].span.to);
  const auto middle = between.begin() + static_cast<std::ptrdiff_t>(between.size() / 2);
  std::ranges::nth_element(between, middle);
  return *middle;
}

/// Tells whether the sampling itself said that it paused between two samples. Asked in the order of time.
class Declared {
 public:
  explicit Declared(std::span<const Span> gaps) : gaps_(gaps) {}
  [[nodiscard]] bool within(Span between) {
    while (!gaps_.empty() && gaps_.front().to <= between.from) gaps_ = gaps_.subspan(1);
    return !gaps_.empty() && gaps_.front().from < between.to;
  }

 private:
  std::span<const Span> gaps_;
};

void set_beginnings(Series& series, std::span<const Span> gaps, bool irregular) {
  const bool sampled = series.kind != SeriesKind::own;
  Declared declared(gaps);
  for (std::size_t i = 0; i < series.samples.size(); ++i) {
    Span& span = series.samples[i].span;
    if (i == 0) {
      span.from = sampled ? std::max(0.0, span.to - series.period) : span.to;
      continue;
    }
    span.from = series.samples[i - 1].span.to;
    if (!sampled) continue;
    const bool said = declared.within(span);
    if (irregular && !said) continue;
    const double periods = said ? kDeclaredGapPeriods : kGapPeriods;
    if (span.seconds() > periods * series.period) span.from = std::max(span.from, span.to - series.period);
  }
}

void count_on(std::vector<Sample>& samples) {
  double offset = 0, before = -std::numeric_limits<double>::infinity();
  for (Sample& sample : samples) {
    if (sample.value < before) offset += before;
    before = sample.value;
    sample.value += offset;
    sample.low = sample.high = sample.value;
  }
}

/// One sample out of several that follow each other without a gap.
class Joined {
 public:
  explicit Joined(const Series& series) : kind_(series.kind), counts_(series.counts) {}
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] const Sample& now() const { return sample_; }

  void add(const Sample& next) {
    if (count_++ == 0) {
      sample_ = next;
      weight_ = std::isnan(next.value) ? 0 : weight_of(next);
      return;
    }
    sample_.span.to = next.span.to;
    sample_.step = next.step;
    sample_.points += next.points;
    sample_.numbers += next.numbers;
    sample_.low = std::fmin(sample_.low, next.low);  // of a number and no number: the number
    sample_.high = std::fmax(sample_.high, next.high);
    join_value(next);
  }
  [[nodiscard]] Sample take() {
    count_ = 0;
    return sample_;
  }

 private:
  void join_value(const Sample& next) {
    if (kind_ == SeriesKind::counter || counts_) {
      sample_.value = next.value;
      return;
    }
    if (kind_ == SeriesKind::flags) {
      sample_.value = static_cast<double>(bits(sample_.value) | bits(next.value));
      return;
    }
    const double weight = weight_of(next);
    if (std::isnan(next.value)) return;
    if (std::isnan(sample_.value) || weight_ + weight <= 0)
      sample_.value = next.value;
    else
      sample_.value += (next.value - sample_.value) * weight / (weight_ + weight);
    weight_ += weight;
  }
  [[nodiscard]] double weight_of(const Sample& sample) const {
    return kind_ == SeriesKind::own ? static_cast<double>(sample.numbers) : sample.span.seconds();
  }
  static std::uint64_t bits(double value) {
    return value >= 0 && value < 0x1p53 ? static_cast<std::uint64_t>(value) : 0;
  }

  SeriesKind kind_;
  bool counts_;
  Sample sample_;
  double weight_ = 0;
  std::size_t count_ = 0;
};

bool counts_up(std::span<const Sample> samples) {
  const auto whole = [](const Sample& s) { return std::isfinite(s.value) && s.value == std::floor(s.value); };
  return std::ranges::all_of(samples, whole) && std::ranges::is_sorted(samples, {}, &Sample::value);
}

bool follows(const Sample& before, const Sample& after) {
  return after.span.from <= before.span.to;
}

double end_of(const Sample& sample) {
  return sample.span.to;
}

/// The samples of the run from the first that ends after `time`.
std::span<const Sample> samples_after(const Series& series, double time) {
  const std::span<const Sample> samples = samples_of_run(series);
  return {std::ranges::upper_bound(samples, time, {}, end_of), samples.end()};
}

/// Gathers what samples say about the time that they share with spans.
class Gathered {
 public:
  void add(const Sample& sample, double seconds) {
    if (seconds <= 0 || std::isnan(sample.value)) return;
    seconds_ += seconds;
    add_weighted(sample, seconds);
  }
  /// A moment: the first point of a metric counts as every other does.
  void add_moment(const Sample& sample) {
    if (std::isnan(sample.value)) return;
    first_ = std::min(first_, sample.span.to);
    seconds_ = sample.span.to - first_;
    add_weighted(sample, static_cast<double>(sample.numbers));
  }
  [[nodiscard]] std::optional<Average> take() const {
    if (weight_ <= 0 || !std::isfinite(sum_)) return std::nullopt;
    return Average{sum_ / weight_, low_, high_, seconds_, points_};
  }

 private:
  void add_weighted(const Sample& sample, double weight) {
    sum_ += sample.value * weight;
    weight_ += weight;
    points_ += sample.numbers;
    low_ = std::min(low_, sample.low);
    high_ = std::max(high_, sample.high);
  }

  double sum_ = 0, weight_ = 0, seconds_ = 0;
  double first_ = std::numeric_limits<double>::infinity();
  std::int64_t points_ = 0;
  double low_ = std::numeric_limits<double>::infinity(), high_ = -std::numeric_limits<double>::infinity();
};

/// A counter's value at a moment; nothing in a gap and further outside than one period.
std::optional<double> value_at(const Series& counter, double time) {
  const std::vector<Sample>& samples = counter.samples;
  if (samples.empty()) return std::nullopt;
  const auto next = std::ranges::lower_bound(samples, time, {}, [](const Sample& s) { return s.span.to; });
  if (next == samples.end()) {
    const bool near = time <= samples.back().span.to + kGapPeriods * counter.period;
    return near ? std::optional(samples.back().value) : std::nullopt;
  }
  if (time < next->span.from) return std::nullopt;
  if (next == samples.begin()) return next->value;
  const Sample& before = *(next - 1);
  if (!follows(before, *next)) return next->value;
  const double share = (time - before.span.to) / (next->span.to - before.span.to);
  return before.value + share * (next->value - before.value);
}

std::vector<Span> spans_where(const Series& series, Span within, const std::function<bool(double)>& holds) {
  std::vector<Span> out;
  for (const Sample& s : samples_after(series, within.from)) {
    if (s.span.from >= within.to) break;
    if (std::isnan(s.value) || !holds(s.value)) continue;
    const Span part{std::max(s.span.from, within.from), std::min(s.span.to, within.to)};
    if (part.seconds() <= 0) continue;
    if (!out.empty() && part.from <= out.back().to)
      out.back().to = part.to;
    else
      out.push_back(part);
  }
  return out;
}

}  // namespace

Series make_series(std::span<const store::Point> points, const SeriesOptions& options) {
  Series series;
  series.kind = options.kind;
  series.points = static_cast<std::int64_t>(points.size());
  series.samples.reserve(points.size());
  for (const store::Point& point : points) {
    // In doubles: the difference of two times from outside may be more than 63 bits hold.
    const double seconds =
        (static_cast<double>(point.time) - static_cast<double>(options.start)) * kMicrosecond;
    const double value = point.value * options.scale;
    series.samples.push_back(
        {{0, std::max(0.0, seconds)}, value, value, value, point.step, 1, std::isnan(value) ? 0 : 1});
  }
  const auto time = [](const Sample& s) { return s.span.to; };
  if (!std::ranges::is_sorted(series.samples, {}, time)) std::ranges::stable_sort(series.samples, {}, time);
  series.period = usual_period(series.samples);
  set_beginnings(series, options.gaps, options.irregular);
  if (series.kind == SeriesKind::counter) count_on(series.samples);
  series.counts = series.kind == SeriesKind::own && counts_up(series.samples);
  return reduced(series, options.most_samples);
}

Series reduced(const Series& series, std::size_t most) {
  if (series.samples.size() <= most || most == 0) return series;
  Series out{series.kind,   series.unit,   series.source, {},
             series.points, series.period, series.counts, series.run_end};
  out.samples.reserve(most);
  // A stretch that a gap cuts gives two samples: fewer stretches leave room for those.
  std::size_t cuts = 0;
  for (std::size_t i = 1; i < series.samples.size(); ++i)
    if (!follows(series.samples[i - 1], series.samples[i])) ++cuts;
  const std::size_t stretches = std::max({most / 2, most - std::min(most, cuts), std::size_t{1}});
  const double begin = series.samples.front().span.to, end = series.samples.back().span.to;
  const double width = std::max(end - begin, kMicrosecond) / static_cast<double>(stretches);
  Joined joined(series);
  double stretch = 0;
  for (const Sample& sample : series.samples) {
    const double now =
        std::min(std::floor((sample.span.to - begin) / width), static_cast<double>(stretches) - 1);
    // Where even the gaps are too many, they go: the number of samples is a promise.
    const bool cut = !joined.empty() && !follows(joined.now(), sample) && cuts <= most / 2;
    if (!joined.empty() && (now != stretch || cut)) out.samples.push_back(joined.take());
    stretch = now;
    joined.add(sample);
  }
  if (!joined.empty()) out.samples.push_back(joined.take());
  return out;
}

std::span<const Sample> samples_of_run(const Series& series) {
  const std::span<const Sample> all = series.samples;
  if (!series.run_end) return all;
  const std::span<const Sample> within(all.begin(),
                                       std::ranges::upper_bound(all, *series.run_end, {}, end_of));
  const auto stands_for_time = [](const Sample& s) { return s.span.seconds() > 0; };
  return std::ranges::any_of(within, stands_for_time) ? within : all;
}

std::optional<Average> average(const Series& series, Span span) {
  return average(series, std::span(&span, 1));
}

std::optional<Average> average(const Series& series, std::span<const Span> spans) {
  Gathered gathered;
  if (series.kind == SeriesKind::own) {
    for (const Sample& sample : series.samples)
      if (std::ranges::any_of(
              spans, [&](Span span) { return span.from <= sample.span.to && sample.span.to <= span.to; }))
        gathered.add_moment(sample);
    return gathered.take();
  }
  for (const Span& span : spans)
    for (const Sample& s : samples_after(series, span.from)) {
      if (s.span.from >= span.to) break;
      gathered.add(s, std::min(s.span.to, span.to) - std::max(s.span.from, span.from));
    }
  return gathered.take();
}

std::optional<double> increase(const Series& counter, Span span) {
  const std::optional<double> begin = value_at(counter, span.from), end = value_at(counter, span.to);
  if (!begin || !end) return std::nullopt;
  return *end - *begin;
}

std::optional<Growth> growth(const Series& counter, Span span) {
  if (counter.samples.size() < 2) return std::nullopt;
  const Span known{std::max(span.from, counter.samples.front().span.to),
                   std::min(span.to, counter.samples.back().span.to)};
  if (known.seconds() <= 0) return std::nullopt;
  const auto next = [&](double time) {
    return std::ranges::lower_bound(counter.samples, time, {}, [](const Sample& s) { return s.span.to; });
  };
  // An end in a gap: what was counted next, or last, is the nearest that is known.
  const double begin = value_at(counter, known.from).value_or(next(known.from)->value);
  const auto last = next(known.to);
  const double end =
      value_at(counter, known.to).value_or(last == counter.samples.begin() ? last->value : (last - 1)->value);
  return Growth{std::max(0.0, end - begin), known};
}

std::vector<Span> spans_below(const Series& series, double limit, Span within) {
  return spans_where(series, within, [limit](double value) { return value < limit; });
}

std::vector<Span> spans_from(const Series& series, double limit, Span within) {
  return spans_where(series, within, [limit](double value) { return value >= limit; });
}

double seconds(std::span<const Span> spans) {
  double sum = 0;
  for (const Span& span : spans) sum += span.seconds();
  return sum;
}

}  // namespace plimsoll::diagnose
