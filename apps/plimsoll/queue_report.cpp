#include "queue_report.hpp"

#include <array>

#include <fmt/format.h>
#include <pwd.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "queue_client.hpp"
#include "store/timestamp.hpp"

namespace plimsoll {
namespace {

using Told = job::Json;

std::string text_at(const Told& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  return printable(job::text_of(*found).value_or(""));
}
std::optional<double> number_at(const Told& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}
std::string bytes_at(const Told& object, const char* key) {
  const auto value = number_at(object, key);
  return value ? text(Bytes(static_cast<std::int64_t>(*value))) : std::string("unknown");
}

std::string user_text(const std::string& number) {
  std::array<char, 16384> buffer;  // filled by getpwuid_r
  passwd entry{};
  passwd* found = nullptr;
  const auto id = static_cast<uid_t>(std::strtoul(number.c_str(), nullptr, 10));
  if (::getpwuid_r(id, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return number;
  return printable(entry.pw_name);
}

std::string command_text(const Told& job) {
  const auto found = job.find("command");
  std::string out;
  if (found != job.end() && found->is_array())
    for (const Told& word : *found)
      out += (out.empty() ? "" : " ") + printable(job::text_of(word).value_or(""));
  return out;
}

/// Where it is, or why it is nowhere.
std::string place_text(const Told& job) {
  std::string why = text_at(job, "waits_because");
  if (!why.empty()) return why;
  std::string out;
  if (const auto places = job.find("places"); places != job.end() && places->is_array())
    for (const Told& place : *places)
      out += (out.empty() ? "" : ", ") + printable(job::text_of(place).value_or(""));
  if (const std::string sharing = text_at(job, "sharing"); !sharing.empty() && sharing != "alone")
    out += ", " + sharing;
  if (const std::string host = text_at(job, "host"); !host.empty() && !out.empty()) out += " on " + host;
  if (const std::string outcome = text_at(job, "outcome"); !outcome.empty()) out = outcome;
  if (const std::string reason = text_at(job, "reason"); !reason.empty() && !text_at(job, "outcome").empty())
    out += ": " + reason;
  return out;
}

std::string when_text(const Told& job) {
  const auto starts = number_at(job, "starts_in_seconds"), ends = number_at(job, "ends_in_seconds");
  if (starts && ends)
    return fmt::format("starts in {}, ends in {}", duration_text(*starts), duration_text(*ends));
  if (ends) return fmt::format("ends in {}", duration_text(*ends));
  const auto started = number_at(job, "started"), ended = number_at(job, "ended");
  if (started && ended) return fmt::format("took {}", duration_text(std::max(0.0, *ended - *started)));
  return {};
}

}  // namespace

std::string queue_text(const Told& answer, const report::TextStyle& style) {
  std::string out;
  const Told& queue = answer["queue"];
  for (const Told& gpu : queue["gpus"]) {
    out +=
        fmt::format("{}  {}, {}, {} job{}", report::bold(text_at(gpu, "name"), style), text_at(gpu, "device"),
                    text_at(gpu, "sharing"), gpu["jobs"].size(), gpu["jobs"].size() == 1 ? "" : "s");
    if (const auto others = number_at(gpu, "others_bytes"); others && *others > 1e9)
      out += fmt::format(", {} held by others", bytes_at(gpu, "others_bytes"));
    if (const std::string trouble = text_at(gpu, "trouble"); !trouble.empty()) out += ": " + trouble;
    out += '\n';
  }
  if (!queue.value("holds_lease", true))
    out += "The store does not answer: nothing is started until it does.\n";
  if (answer["jobs"].empty()) return out + "\nNothing waits or runs.\n";
  report::Table table;
  table.columns = {{"job", report::Align::right, false, report::Importance::always},
                   {"name", report::Align::left, true, report::Importance::telling},
                   {"user", report::Align::left, true, report::Importance::detail},
                   {"state", report::Align::left, false, report::Importance::always},
                   {"step", report::Align::right, false, report::Importance::detail},
                   {"expected", report::Align::left, false, report::Importance::telling},
                   {"where, or why not", report::Align::left, false, report::Importance::always, true}};
  for (const Told& job : answer["jobs"]) {
    std::string name = text_at(job, "name");
    if (name.empty()) name = command_text(job);
    const auto step = number_at(job, "step");
    table.rows.push_back({fmt::format("{}", job["number"].get<std::int64_t>()), name,
                          user_text(text_at(job, "user")), text_at(job, "state"),
                          step ? fmt::format("{:.0f}", *step) : "", when_text(job), place_text(job)});
  }
  out += "\n" + report::to_text(table, style);
  if (const auto left = number_at(answer, "left_out"); left && *left > 0)
    out += fmt::format("and {:.0f} more\n", *left);
  return out;
}

std::string queue_job_text(const Told& job, const Told& decisions, const report::TextStyle& style) {
  std::string out =
      fmt::format("{}  {}\n", report::bold(fmt::format("job {}", job["number"].get<std::int64_t>()), style),
                  text_at(job, "name"));
  const auto line = [&](const char* label, const std::string& value) {
    if (!value.empty()) out += fmt::format("  {:<12}{}\n", label, value);
  };
  line("state", text_at(job, "state"));
  line("", when_text(job));
  line("where", place_text(job));
  line("user", user_text(text_at(job, "user")));
  line("command", command_text(job));
  line("directory", text_at(job, "directory"));
  line("run", text_at(job, "run"));
  if (const auto speed = number_at(job, "promised_speed"))
    line("promised", fmt::format("{:.2f} of its speed alone", *speed));
  if (const auto speed = number_at(job, "speed"))
    line("has", fmt::format("{:.2f} of its speed alone, lately", *speed));
  if (job.contains("gpu_bytes")) line("memory", bytes_at(job, "gpu_bytes"));
  if (const auto attempts = number_at(job, "attempt"); attempts && *attempts > 1)
    line("attempts", fmt::format("{:.0f}", *attempts));
  if (decisions.empty()) return out;
  out += "\n";
  report::Table table;
  table.columns = {{"when"},
                   {"what", report::Align::left, false, report::Importance::always},
                   {"why", report::Align::left, false, report::Importance::always, true}};
  for (const Told& decision : decisions) {
    const auto at = number_at(decision, "at").value_or(0);
    table.rows.push_back({store::time_text(static_cast<store::Time>(at * 1e6)).substr(0, 19),
                          text_at(decision, "kind"), text_at(decision, "reason")});
  }
  return out + report::to_text(table, style);
}

std::string expected_text(const Told& answer, const report::TextStyle& style) {
  std::string out;
  std::size_t index = 0;
  for (const Told& job : answer["jobs"]) {
    if (answer["jobs"].size() > 1)
      out += report::bold(fmt::format("job {} of {}", ++index, answer["jobs"].size()), style) + "\n";
    out += fmt::format("needs    {} of GPU memory at most ({})\n", bytes_at(job, "memory_bytes"),
                       text_at(job, "source"));
    if (const auto alone = number_at(job, "alone_seconds"))
      out += fmt::format("alone    {}\n", duration_text(*alone));
    if (job.contains("place"))
      out += fmt::format("starts   at once on {}: {}\n", text_at(job, "place"), text_at(job, "reason"));
    else if (const std::string why = text_at(job, "waits"); !why.empty())
      out += fmt::format("waits    {}\n", why);
    const auto start = number_at(job, "start_seconds"), end = number_at(job, "end_seconds");
    if (start && end)
      out += fmt::format("expected to start in {} and to end in {}\n", duration_text(*start),
                         duration_text(*end));
    else if (start)
      out += fmt::format("expected to start in {}; nobody knows how long it takes\n", duration_text(*start));
    else
      out += "nobody knows when it starts: it waits for what nobody knows the end of\n";
    if (const auto beside = job.find("beside"); beside != job.end())
      for (const Told& other : *beside)
        out += fmt::format("beside   job {}, which is left {:.2f} of its speed alone\n",
                           other["job"].get<std::int64_t>(), other["speed"].get<double>());
  }
  for (const Told& other : answer["others"])
    if (const double later = other["later_seconds"].get<double>(); std::abs(later) >= 1)
      out += fmt::format("job {} is expected to end {} {}\n", other["job"].get<std::int64_t>(),
                         duration_text(std::abs(later)), later > 0 ? "later" : "earlier");
  return out;
}

}  // namespace plimsoll
