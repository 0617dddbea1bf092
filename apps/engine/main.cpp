// plimsoll-engine: runs and trains networks on LibTorch. Takes one job (JSON), answers in lines of JSON on
// standard output; src/job says what stands in them.
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <sys/prctl.h>

#include "base/files.hpp"
#include "engine/call.hpp"
#include "engine/tasks.hpp"

namespace {

constexpr std::string_view kUsage =
    "usage: plimsoll-engine JOB.json      does what the job asks; `plimsoll measure` writes such jobs\n"
    "       plimsoll-engine --operators   lists the operators it executes\n"
    "       plimsoll-engine --version\n";

void emit(const plimsoll::job::Answer& answer) {
  const std::string line = plimsoll::job::write(answer) + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

void list_operators() {
  for (const plimsoll::engine::OperatorRow& row : plimsoll::engine::operator_rows())
    fmt::print("{}{}{}\n", row.domain, row.domain.empty() ? "" : ".", row.name);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "{}", kUsage);
    return 2;
  }
  const std::string_view argument = argv[1];
  if (argument == "--help" || argument == "-h") {
    fmt::print("{}", kUsage);
    return 0;
  }
  if (argument == "--version") {
    fmt::print("plimsoll-engine {}\n", PLIMSOLL_VERSION);
    return 0;
  }
  if (argument == "--operators") {
    list_operators();
    return 0;
  }
  // Whoever started the engine reads its answers; without a reader there is nothing to go on for.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  plimsoll::Result<std::string> text = plimsoll::read_file(argv[1], plimsoll::job::kMostJobBytes);
  if (!text) return static_cast<int>(plimsoll::engine::tell(text.error(), emit));
  plimsoll::Result<plimsoll::job::Job> job = plimsoll::job::read(*text);
  if (!job) return static_cast<int>(plimsoll::engine::tell(std::move(job).error().within(argv[1]), emit));
  text->clear();
  text->shrink_to_fit();
  return static_cast<int>(plimsoll::engine::run(*job, emit));
}
