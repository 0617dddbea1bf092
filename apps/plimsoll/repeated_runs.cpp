#include "repeated_runs.hpp"

#include <fmt/format.h>

#include "base/printable.hpp"
#include "run/supervision.hpp"
#include "run_ends.hpp"

namespace plimsoll {
namespace {

std::string numbered(std::string word, std::size_t time) {
  constexpr std::string_view kPlace = "{run}";
  const std::string number = fmt::format("{}", time);
  for (std::size_t at = word.find(kPlace); at != std::string::npos;
       at = word.find(kPlace, at + number.size()))
    word.replace(at, kPlace.size(), number);
  return word;
}

}  // namespace

Result<std::vector<RepeatedRun>> run_repeatedly(const std::vector<RepeatedCommand>& commands,
                                                std::size_t times, const running::SessionOptions& options,
                                                const std::function<void(const RepeatedRun&)>& each) {
  std::vector<RepeatedRun> out;
  running::Listener listener;
  listener.warn = [](const std::string& line) { tell(printable(line)); };
  for (std::size_t time = 1; time <= times; ++time)
    for (std::size_t i = 0; i < commands.size(); ++i) {
      running::JobSpec job = commands[i].job;
      for (std::string& word : job.command) word = numbered(std::move(word), time);
      Result<running::SessionResult> result =
          running::run_session({.jobs = {std::move(job)}, .options = options, .quiet = true}, listener);
      if (!result) return std::unexpected(std::move(result).error());
      for (running::Ended& ended : result->ended) {
        out.push_back({i, std::move(ended)});
        each(out.back());
      }
      if (result->interrupted) return out;
    }
  return out;
}

}  // namespace plimsoll
