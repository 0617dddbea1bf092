// plimsoll-cuda: what a GPU can do, by plain CUDA. Takes one job (JSON), answers in lines of JSON on standard
// output; src/cuda/job.hpp and answer.hpp say what stands in them.
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <sys/prctl.h>

#include "base/files.hpp"
#include "cuda/protocol.hpp"
#include "cuda/tasks.hpp"

namespace {

constexpr std::string_view kUsage =
    "usage: plimsoll-cuda JOB.json   does what the job asks (-: read from standard input); `plimsoll probe`\n"
    "                                writes such jobs\n"
    "       plimsoll-cuda --version\n";

void emit(const plimsoll::cuda::Answer& answer) {
  const std::string line = plimsoll::cuda::write(answer) + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

int refuse(const plimsoll::Error& error) {
  emit(plimsoll::cuda::Failure{.message = error.text(), .hint = error.hint, .kind = "bad-input"});
  return static_cast<int>(plimsoll::cuda::Outcome::bad_input);
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
    fmt::print("plimsoll-cuda {}\n", PLIMSOLL_VERSION);
    return 0;
  }
  // Whoever started it reads its answers; without a reader there is nothing to go on for.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::string_view file = argument == "-" ? "/dev/stdin" : argument;
  const plimsoll::Result<std::string> text = plimsoll::read_file(file, plimsoll::cuda::kMostJobBytes);
  if (!text) return refuse(text.error());
  plimsoll::Result<plimsoll::cuda::Job> job = plimsoll::cuda::read_job(*text);
  if (!job) return refuse(std::move(job).error().within(argument));
  return static_cast<int>(plimsoll::cuda::run(*job, emit));
}
