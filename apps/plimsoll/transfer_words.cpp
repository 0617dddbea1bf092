#include "transfer_words.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/printable.hpp"
#include "base/terminal.hpp"
#include "json_output.hpp"
#include "report/paragraph.hpp"

namespace plimsoll {
namespace {

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

TransferLine::TransferLine() : shown_(::isatty(STDERR_FILENO) != 0) {}

TransferLine::~TransferLine() {
  if (shown_) fmt::print(stderr, "\r\x1B[K");
}

void TransferLine::show(const store::Transferred& so_far) const {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1B[K{} runs, {} points", so_far.runs + so_far.present + so_far.different,
             so_far.points);
  std::fflush(stderr);
}

std::string transfer_words(const store::Transferred& done) {
  std::string out = fmt::format("{} with {}", counted(done.runs, "run"),
                                counted(static_cast<std::size_t>(done.points), "point"));
  if (done.files > 0) out += fmt::format(" and {} ({} bytes)", counted(done.files, "file"), done.bytes);
  if (done.experiments > 0) out += fmt::format(", {}", counted(done.experiments, "new experiment"));
  if (done.models > 0) out += fmt::format(", {}", counted(done.models, "logged model"));
  if (done.registered > 0) out += fmt::format(", {}", counted(done.registered, "registered model"));
  if (done.versions > 0) out += fmt::format(", {} of registered models", counted(done.versions, "version"));
  if (done.present > 0)
    out += fmt::format("; {} {} there already", counted(done.present, "run"),
                       done.present == 1 ? "was" : "were");
  return out;
}

int print_transferred(const store::Transferred& done, std::string_view to, bool json) {
  if (json) {
    print_json({{"store", to},
                {"experiments", done.experiments},
                {"runs", done.runs},
                {"present", done.present},
                {"different", done.different},
                {"models", done.models},
                {"registered_models", done.registered},
                {"versions", done.versions},
                {"versions_different", done.versions_different},
                {"points", done.points},
                {"files", done.files},
                {"file_bytes", done.bytes}});
  } else {
    const report::TextStyle style{describe_terminal(STDOUT_FILENO, ColorChoice::never).width};
    fmt::print("{}", report::paragraph(fmt::format("{}: {}", printable(to), transfer_words(done)), style));
    if (done.different > 0)
      fmt::print("{}",
                 report::paragraph(
                     fmt::format("{} there {} and differ{}: left as {}.", counted(done.different, "run"),
                                 done.different == 1 ? "was already" : "were already",
                                 done.different == 1 ? "s" : "", done.different == 1 ? "it is" : "they are"),
                     style));
    if (done.versions_different > 0)
      fmt::print("{}", report::paragraph(fmt::format("Of registered models {} {} there already and {}: left.",
                                                     counted(done.versions_different, "version"),
                                                     done.versions_different == 1 ? "was" : "were",
                                                     done.versions_different == 1 ? "differs" : "differ"),
                                         style));
  }
  return done.different + done.versions_different > 0 ? 1 : 0;
}

}  // namespace plimsoll
