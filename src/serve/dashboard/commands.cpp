#include "serve/dashboard/commands.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "base/process.hpp"

namespace plimsoll::serve::dashboard {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLargestAnswer = std::size_t{32} << 20;
constexpr std::size_t kLongestError = 2000;
/// Of memory that a command may take for itself; files that it maps are not counted.
constexpr std::string_view kMostMemory = "4294967296";

/// "plimsoll: no such device" as people are told it within a page.
std::string message_of(const ProcessOutput& done) {
  std::string_view text = done.error;
  while (text.ends_with('\n')) text.remove_suffix(1);
  constexpr std::string_view kProgram = "plimsoll: ";
  // What comes before are notes on the way.
  if (const std::size_t at = text.rfind("\nplimsoll: "); at != std::string_view::npos)
    text.remove_prefix(at + 1);
  if (text.starts_with(kProgram)) text.remove_prefix(kProgram.size());
  if (text.empty()) return "the command " + done.outcome();
  // The hint stands on a line of its own.
  const std::size_t line = text.find("\n  ");
  if (line == std::string_view::npos) return printable(text, kLongestError);
  return fmt::format("{}. {}", printable(text.substr(0, line), kLongestError),
                     printable(text.substr(line + 3), kLongestError));
}

/// An object with one member more, which says that the answer is no.
std::string with_no(std::string document) {
  const std::size_t brace = document.find('{');
  if (brace == std::string::npos || document.find_first_not_of(" \n") != brace) return document;
  const bool empty = document.find_first_not_of(" \n", brace + 1) == document.find('}', brace);
  document.insert(brace + 1, empty ? "\"answer\":false" : "\"answer\":false,");
  return document;
}

Response answer_of(ProcessOutput done) {
  if (done.ended_early) return overloaded("this server is about to stop");
  if (done.timed_out)
    return error_response(504, "DEADLINE_EXCEEDED", "that takes too long: ask for less at a time");
  if (done.signal != 0) return error_response(500, "INTERNAL_ERROR", "the command " + done.outcome());
  if (done.output_truncated)
    return error_response(413, "BAD_REQUEST", "the answer is too large: ask for less");
  switch (done.exit_code) {
    case 0: return {.body = std::move(done.output)};
    case 1:
      if (!done.output.empty()) return {.body = with_no(std::move(done.output))};
      [[fallthrough]];
    case 2: return error_response(400, "INVALID_PARAMETER_VALUE", message_of(done));
    case 3: return error_response(503, "TEMPORARILY_UNAVAILABLE", message_of(done));
    default: return error_response(500, "INTERNAL_ERROR", message_of(done));
  }
}

}  // namespace

Commands::Commands(CommandsOptions options)
    : options_(std::move(options)), workers_(options_.at_once, options_.most_waiting) {}

Commands::~Commands() {
  stopping_ = true;
  workers_.stop();
}

void Commands::run(Order order, Answer answer) {
  // Workers give a task back that they do not take; then the answer is still to be given here.
  auto shared = std::make_shared<Answer>(std::move(answer));
  Workers::Task task = [this, order = std::move(order), shared, since = Clock::now()] {
    if (Clock::now() - since > options_.longest_wait)
      (*shared)(overloaded("too much is being computed at the moment"));
    else
      (*shared)(carry_out(order));
  };
  if (!workers_.give(task)) (*shared)(overloaded("too much is being computed at the moment"));
}

Response Commands::carry_out(const Order& order) const {
  if (options_.program.empty())
    return error_response(501, "NOT_IMPLEMENTED",
                          "this server computes nothing: it does not know its own program");
  const Result<TemporaryDirectory> folder = TemporaryDirectory::make("plimsoll-page");
  if (!folder) return error_response(503, "TEMPORARILY_UNAVAILABLE", folder.error().text());
  for (const auto& [name, contents] : order.files)
    if (const Status written = write_file(folder->path() / name, contents); !written)
      return error_response(503, "TEMPORARILY_UNAVAILABLE", written.error().text());
  ProcessOptions options{.argv = {options_.program.string()}, .directory = folder->path()};
  for (const std::string& word : order.words) {
    const bool is_file =
        std::ranges::any_of(order.files, [&](const auto& file) { return file.first == word; });
    options.argv.push_back(is_file ? (folder->path() / word).string() : word);
  }
  const char* const home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  if (order.at_home && home != nullptr) options.directory = home;
  options.argv.emplace_back("--json");
  options.environment = {{"PLIMSOLL_TOKEN", ""},  // which none of them needs
                         {"PLIMSOLL_READ_TOKEN", ""},
                         {"PLIMSOLL_MOST_MEMORY", std::string(kMostMemory)},
                         {"COLUMNS", "100"}};
  if (!options_.store.empty()) options.environment.emplace_back("PLIMSOLL_STORE", options_.store);
  if (!options_.artifacts.empty())
    options.environment.emplace_back("PLIMSOLL_ARTIFACTS", options_.artifacts.string());
  options.timeout = options_.longest;
  options.output_limit = kLargestAnswer;
  options.should_end = [this] { return stopping_.load(); };
  Result<ProcessOutput> done = plimsoll::run(options);
  if (!done) return error_response(503, "TEMPORARILY_UNAVAILABLE", done.error().text());
  if (order.page.empty() || done->exit_code > 1 || !(done->succeeded() || done->exit_code == 1))
    return answer_of(*std::move(done));
  Result<std::string> page = read_file(folder->path() / order.page, kLargestAnswer);
  if (!page) return answer_of(*std::move(done));
  Response response{.content_type = "text/html; charset=utf-8", .body = *std::move(page)};
  // Its own scripts are within it; it can neither ask nor tell anybody anything, nor see this server's
  // cookie.
  response.headers.add(
      "Content-Security-Policy",
      "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
      "img-src data:; frame-ancestors 'self'");
  response.headers.add("Cross-Origin-Resource-Policy", "same-origin");
  response.headers.add("Referrer-Policy", "no-referrer");
  return response;
}

}  // namespace plimsoll::serve::dashboard
