#pragma once
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/process.hpp"

namespace plimsoll::report {

/// Opens the page in a browser, runs a script after its own, and gives what that wrote into #answer.
class PageInABrowser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!find_program("chromium")) GTEST_SKIP() << "there is no chromium: the page's script is not tested";
  }

  /// `width`: of the window, in pixels; a phone has about 390.
  static nlohmann::json ask(const std::string& page, const std::string& script, int width = 1200) {
    Result<TemporaryDirectory> folder = TemporaryDirectory::make("plimsoll_page");
    if (!folder) return folder.error().text();
    // A browser without a window draws no frames by itself.
    std::string asked = page;
    asked.insert(asked.find("<script"),
                 "<script>requestAnimationFrame = (then) => setTimeout(then, 1);</script>");
    asked +=
        "<pre id=\"answer\"></pre><script>const answer = {};\naddEventListener('error', (e) => { "
        "answer.error = e.message; "
        "say(); });\nconst say = () => { document.getElementById('answer').textContent = "
        "JSON.stringify(answer); };\n"
        "setTimeout(() => {" +
        script + "}, 500);</script>";
    const std::filesystem::path file = folder->path() / "page.html";
    if (Status written = write_file(file, asked); !written) return written.error().text();
    if (const char* keep = std::getenv("PLIMSOLL_KEEP_PAGES"))
      (void)write_file(
          std::filesystem::path(keep) /
              (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + ".html"),
          page);
    const Result<ProcessOutput> done =
        run({.argv = {"chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                      "--user-data-dir=" + (folder->path() / "profile").string(),
                      "--window-size=" + std::to_string(width) + ",900", "--virtual-time-budget=10000",
                      "--dump-dom", "file://" + file.string()},
             .environment = {{"HOME", folder->path().string()}},
             .timeout = std::chrono::minutes(4)});
    if (!done || !done->succeeded()) return "the browser failed";
    constexpr std::string_view kBegin = "<pre id=\"answer\">";
    const std::size_t begin = done->output.find(kBegin);
    if (begin == std::string::npos) return "no answer";
    std::string text = done->output.substr(begin + kBegin.size());
    text = text.substr(0, text.find("</pre>"));
    for (const auto& [from, to] : {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}})
      for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from))
        text.replace(at, std::string_view(from).size(), to);
    return nlohmann::json::parse(text, nullptr, false);
  }
};

}  // namespace plimsoll::report
