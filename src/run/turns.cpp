#include "run/turns.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <system_error>
#include <tuple>

#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "run/job_json.hpp"

namespace plimsoll::running {
namespace {

constexpr std::size_t kMostSuggested = 20;       // mistakes that get a suggestion: looking for one takes time
constexpr std::size_t kLongestSuggestion = 100;  // letters
constexpr std::size_t kMostOfACircle = 8;        // names that are told

/// By experiment, workload and name.
using NamedJob = std::tuple<std::string_view, std::string_view, std::string_view>;
using Places = std::vector<std::size_t>;

NamedJob named(const JobSpec& job, std::string_view name) {
  return {job.experiment, job.workload, name};
}

std::string row_line(const JobRow& row) {
  return fmt::format("line {}", row.line);
}

/// What the jobs of a file are called, and where they stand.
class Names {
 public:
  explicit Names(const std::vector<JobRow>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (const JobSpec& job = rows[i].spec; !job.name.empty() && !job.workload.empty())
        places_[named(job, job.name)].push_back(i);
  }
  [[nodiscard]] const Places& find(const JobSpec& job, std::string_view name) const {
    const auto found = places_.find(named(job, name));
    return found == places_.end() ? none_ : found->second;
  }
  [[nodiscard]] std::string like(const JobSpec& job, std::string_view name) const {
    if (name.size() > kLongestSuggestion) return {};
    std::vector<std::string_view> known;
    for (auto it = places_.lower_bound(named(job, "")); it != places_.end(); ++it) {
      const auto& [experiment, workload, other] = it->first;
      if (experiment != job.experiment || workload != job.workload) break;
      if (other != job.name && other.size() <= kLongestSuggestion) known.push_back(other);
    }
    return did_you_mean(name, known);
  }

 private:
  std::map<NamedJob, Places> places_;
  Places none_;
};

std::optional<std::string> mistake(const JobSpec& job, std::string_view name, const Places& found,
                                   std::size_t self) {
  if (job.workload.empty()) return fmt::format("it waits for {}, but is in no workload", quote(name));
  if (found.empty())
    return fmt::format("it waits for {}, but no job of workload {} has that name", quote(name),
                       quote(job.workload));
  if (found.size() > 1)
    return fmt::format("it waits for {}, but {} jobs of workload {} have that name", quote(name),
                       found.size(), quote(job.workload));
  if (found.front() == self) return "it waits for itself";
  return {};
}

/// Takes away all that can start some day; what is left are circles, and who waits for one.
void leave_circles(std::vector<Places>& awaited) {
  std::vector<Places> waiting(awaited.size());
  std::vector<std::size_t> open(awaited.size());
  Places free;
  for (std::size_t i = 0; i < awaited.size(); ++i) {
    for (const std::size_t other : awaited[i]) waiting[other].push_back(i);
    open[i] = awaited[i].size();
    if (open[i] == 0) free.push_back(i);
  }
  while (!free.empty()) {
    const std::size_t ended = free.back();
    free.pop_back();
    awaited[ended].clear();
    for (const std::size_t other : waiting[ended])
      if (--open[other] == 0) free.push_back(other);
  }
  for (Places& of : awaited) std::erase_if(of, [&](std::size_t other) { return open[other] == 0; });
}

Error circle_error(const std::vector<JobRow>& rows, const Places& circle) {
  const auto name_at = [&](std::size_t place) { return quote(rows[circle[place]].spec.name); };
  std::string text = fmt::format("{} waits for ", name_at(0));
  const std::size_t told = std::min(circle.size(), kMostOfACircle);
  for (std::size_t i = 1; i < told; ++i) text += fmt::format("{}, which waits for ", name_at(i));
  if (told < circle.size())
    text += fmt::format("{} more, the last of which waits for ", circle.size() - told);
  return {text + name_at(0), row_line(rows[circle.front()])};
}

/// One circle of each knot of jobs that wait for each other.
void find_circles(const std::vector<JobRow>& rows, std::vector<Places> awaited, std::vector<Error>& errors) {
  leave_circles(awaited);
  std::vector<std::size_t> seen(rows.size(), 0);  // in which walk; 0: in none
  for (std::size_t start = 0; start < rows.size(); ++start) {
    Places walk;
    std::size_t at = start;
    for (; seen[at] == 0 && !awaited[at].empty(); at = awaited[at].front()) {
      seen[at] = start + 1;
      walk.push_back(at);
    }
    if (walk.empty() || seen[at] != start + 1) continue;
    walk.erase(walk.begin(), std::ranges::find(walk, at));
    std::ranges::rotate(walk, std::ranges::min_element(walk));
    errors.push_back(circle_error(rows, walk));
  }
}

}  // namespace

std::vector<Error> turn_mistakes(const std::vector<JobRow>& rows) {
  std::size_t count = 0;
  for (const JobRow& row : rows) count += row.spec.after.size();
  if (count == 0) return {};
  if (count > kMostAwaited) return {Error{std::string(kTooManyAwaited)}};
  const Names names(rows);
  std::vector<Error> errors;
  std::vector<Places> awaited(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const JobSpec& job = rows[i].spec;
    for (const std::string& name : job.after) {
      const Places& found = names.find(job, name);
      if (auto wrong = mistake(job, name, found, i))
        errors.push_back({*std::move(wrong), row_line(rows[i]),
                          found.empty() && errors.size() < kMostSuggested ? names.like(job, name) : ""});
      else
        awaited[i].push_back(found.front());
    }
  }
  find_circles(rows, std::move(awaited), errors);
  return errors;
}

std::vector<std::vector<std::size_t>> awaited_by(const std::vector<JobSpec>& jobs) {
  std::map<NamedJob, Places> places;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (!jobs[i].name.empty()) places[named(jobs[i], jobs[i].name)].push_back(i);
  std::vector<Places> out(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i)
    for (const std::string& name : jobs[i].after)
      if (const auto found = places.find(named(jobs[i], name)); found != places.end())
        out[i].insert(out[i].end(), found->second.begin(), found->second.end());
  return out;
}

bool waits_for_turn(const JobSpec& job) {
  return !job.after.empty() || job.start;
}

std::string turn_mark(const JobSpec& job, const std::string& store) {
  JobSpec marked = job;
  std::error_code ignored;
  marked.directory = std::filesystem::absolute(job.directory.empty() ? "." : job.directory, ignored);
  marked.tags.emplace_back("store", store);
  return digest_of(marked);
}

}  // namespace plimsoll::running
