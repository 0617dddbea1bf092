#include "help_text.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/table.hpp"

namespace plimsoll {
namespace {

using report::display_width;

constexpr std::size_t kIndent = 2, kGap = 2;
constexpr std::size_t kWidestNames = 26;  ///< of a row; longer ones have a line of their own

/// Words between spaces; what stands in one of `quotes` is one word.
std::vector<std::string> split_words(std::string_view text, std::string_view quotes) {
  std::vector<std::string> words;
  std::string word;
  char open = '\0';
  for (const char c : text) {
    if (c == ' ' && open == '\0') {
      if (!word.empty()) words.push_back(std::exchange(word, {}));
      continue;
    }
    if (open == '\0' && quotes.find(c) != quotes.npos)
      open = c;
    else if (c == open)
      open = '\0';
    word += c;
  }
  if (!word.empty()) words.push_back(word);
  return words;
}

/// Lines of at most `width` columns, as far as the words allow; each but the last ends with `ending`, each
/// but the first begins with `indent` spaces.
std::vector<std::string> fill(const std::vector<std::string>& words, std::size_t width,
                              std::string_view ending = {}, std::size_t indent = 0) {
  std::vector<std::string> lines;
  std::string line;
  std::size_t used = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t room = width - (i + 1 < words.size() ? std::min(width, ending.size()) : 0);
    const std::size_t more = display_width(words[i]);
    if (used > indent && used + 1 + more > room) {
      lines.push_back(line + std::string(ending));
      line = std::string(indent, ' ');
      used = indent;
    } else if (i > 0) {
      line += ' ';
      ++used;
    }
    line += words[i];
    used += more;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

std::vector<std::string> sentence_lines(std::string_view text, std::size_t width) {
  return fill(split_words(text, "`"), width);
}

std::string section(const HelpSection& of, std::size_t width) {
  std::size_t names = 0;
  for (const HelpRow& row : of.rows)
    if (const std::size_t w = display_width(row.names); w <= kWidestNames) names = std::max(names, w);
  const std::size_t column = kIndent + names + kGap;
  std::string out = fmt::format("\n{}:\n", of.title);
  for (const HelpRow& row : of.rows) {
    const std::size_t used = display_width(row.names);
    std::string line = std::string(kIndent, ' ') + row.names;
    if (used > names) {
      out += line + '\n';
      line.clear();
    }
    std::size_t at = line.empty() ? 0 : kIndent + used;
    for (const std::string& text : sentence_lines(row.text, width > column ? width - column : width)) {
      out += fmt::format("{}{}{}\n", line, std::string(column - at, ' '), text);
      line.clear();
      at = 0;
    }
    if (!line.empty()) out += line + '\n';
  }
  return out;
}

struct Example {
  std::string command;
  std::string purpose;
};

Example example_of(std::string_view line) {
  const auto gap = line.find("  ");
  if (gap == line.npos) return {std::string(line), {}};
  const auto purpose = line.find_first_not_of(' ', gap);
  return {std::string(line.substr(0, gap)),
          std::string(purpose == line.npos ? std::string_view() : line.substr(purpose))};
}

/// What a long command may be broken between: an option stays with its value.
std::vector<std::string> command_words(std::string_view command) {
  std::vector<std::string> out;
  for (std::string& word : split_words(command, "\"'")) {
    const bool value = !out.empty() && out.back().starts_with('-') &&
                       out.back().find(' ') == std::string::npos && out.back() != "--" &&
                       !word.starts_with('-');
    if (value)
      out.back() += ' ' + word;
    else
      out.push_back(std::move(word));
  }
  return out;
}

std::string examples(const std::vector<Example>& all, std::size_t width) {
  std::size_t column = 0;
  for (const Example& e : all)
    if (!e.purpose.empty()) column = std::max(column, display_width(e.command));
  const bool beside = std::ranges::all_of(all, [&](const Example& e) {
    return e.purpose.empty() || kIndent + column + kGap + 2 + display_width(e.purpose) <= width;
  });
  const std::string indent(kIndent, ' ');
  std::string out;
  for (const Example& e : all) {
    if (!e.purpose.empty() && beside) {
      out += fmt::format("{}{}{}# {}\n", indent, e.command,
                         std::string(column + kGap - display_width(e.command), ' '), e.purpose);
      continue;
    }
    if (!e.purpose.empty())
      for (const std::string& line : sentence_lines(e.purpose, width - kIndent - 2))
        out += fmt::format("{}# {}\n", indent, line);
    for (const std::string& line : fill(command_words(e.command), width - kIndent, " \\", kIndent))
      out += indent + line + '\n';
  }
  return out;
}

std::string footer(std::string_view text, std::size_t width) {
  std::string out, sentences;
  std::vector<Example> pending;
  const auto end_examples = [&] { out += examples(std::exchange(pending, {}), width); };
  const auto end_sentences = [&] {
    for (const std::string& line : sentence_lines(std::exchange(sentences, {}), width)) out += line + '\n';
  };
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.starts_with("  ")) {
      end_sentences();
      pending.push_back(example_of(line.substr(kIndent)));
    } else if (line.ends_with(':')) {
      end_examples();
      end_sentences();
      out += fmt::format("{}{}\n", out.empty() ? "" : "\n", line);
    } else {
      end_examples();
      if (sentences.empty() && !out.empty()) out += '\n';
      sentences += fmt::format("{}{}", sentences.empty() ? "" : " ", line);
    }
  }
  end_examples();
  end_sentences();
  return out;
}

}  // namespace

std::string to_text(const HelpPage& page, std::size_t width) {
  std::string out;
  for (const std::string& line : sentence_lines(page.description, width)) out += line + '\n';
  constexpr std::string_view kUsage = "Usage: ", kAgain = "       ";
  for (std::size_t i = 0; i < page.usage.size(); ++i) {
    out += i == 0 ? "\n" : "";
    const auto lines = fill(split_words(page.usage[i], {}), width - kUsage.size(), {}, kIndent);
    for (std::size_t n = 0; n < lines.size(); ++n)
      out += fmt::format("{}{}\n", i == 0 && n == 0 ? kUsage : kAgain, lines[n]);
  }
  for (const HelpSection& of : page.sections)
    if (!of.rows.empty()) out += section(of, width);
  if (!page.footer.empty()) out += '\n' + footer(page.footer, width);
  return out;
}

}  // namespace plimsoll
