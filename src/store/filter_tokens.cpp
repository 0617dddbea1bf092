#include "store/filter_tokens.hpp"

#include <charconv>
#include <cmath>

#include "base/printable.hpp"

namespace plimsoll::store {
namespace {

constexpr std::size_t kLongestFilter = std::size_t{64} << 10;
constexpr std::size_t kMostTokens = 4096;

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// What may be in a key without quotes. A slash and a dash are in many metrics' names (system/gpu_0,
/// f1-score).
bool is_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '/' ||
         c == '-' || byte >= 0x80;
}

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> all() {
    if (text_.size() > kLongestFilter)
      return fail("a filter of {} bytes is longer than {}", text_.size(), kLongestFilter);
    std::vector<Token> out;
    do {
      while (at_ < text_.size() && is_space(text_[at_])) ++at_;
      Result<Token> token =
          one(!out.empty() && out.back().kind == Token::Kind::sign && out.back().text == ".");
      if (!token) return std::unexpected(std::move(token).error());
      out.push_back(std::move(*token));
      if (out.size() > kMostTokens) return fail("the filter has more than {} words and signs", kMostTokens);
    } while (out.back().kind != Token::Kind::end);
    return out;
  }

 private:
  Result<Token> one(bool after_dot) {
    if (at_ == text_.size()) return Token{Token::Kind::end, {}, at_};
    const char c = text_[at_];
    if (c == '\'' || c == '"' || c == '`') return quoted(c);
    if (begins_number(after_dot)) return number();
    if (is_word(c)) return word(after_dot);
    for (const std::string_view sign : {"!=", "<=", ">=", "==", "=", "<", ">", ".", ",", "(", ")"})
      if (text_.substr(at_).starts_with(sign)) {
        Token token{Token::Kind::sign, std::string(sign == "==" ? "=" : sign), at_};
        at_ += sign.size();
        return token;
      }
    return std::unexpected(
        filter_error(text_, at_, fmt::format("{} has no meaning here", quote(text_.substr(at_, 1)))));
  }

  /// In metrics.1 neither the dot nor what follows it begins a number.
  [[nodiscard]] bool begins_number(bool after_dot) const {
    const char c = text_[at_], next = at_ + 1 < text_.size() ? text_[at_ + 1] : ' ';
    if (after_dot || (c == '.' && at_ > 0 && is_word(text_[at_ - 1]))) return false;
    return is_digit(c) || (c == '.' && is_digit(next)) ||
           ((c == '-' || c == '+') && (is_digit(next) || next == '.'));
  }

  /// A quote within is written twice, as in SQL.
  Result<Token> quoted(char mark) {
    Token token{mark == '`' ? Token::Kind::key : Token::Kind::string, {}, at_, mark};
    for (std::size_t i = at_ + 1; i < text_.size(); ++i) {
      if (text_[i] != mark) {
        token.text += text_[i];
      } else if (i + 1 < text_.size() && text_[i + 1] == mark) {
        token.text += mark;
        ++i;
      } else {
        at_ = i + 1;
        return token;
      }
    }
    return std::unexpected(filter_error(text_, at_, fmt::format("this {} is never closed", mark)));
  }

  Result<Token> number() {
    Token token{Token::Kind::number, {}, at_};
    const char* begin = text_.data() + at_;
    if (*begin == '+') ++begin;
    const auto [end, problem] = std::from_chars(begin, text_.data() + text_.size(), token.number);
    const bool glued =
        problem == std::errc() && end != text_.data() + text_.size() && (is_word(*end) || *end == '.');
    if (problem != std::errc() || glued)
      return std::unexpected(filter_error(text_, at_, "this is not a number"));
    const auto length = static_cast<std::size_t>(end - text_.data()) - at_;
    token.text = text_.substr(at_, length);
    at_ += length;
    return token;
  }

  /// After the dot the rest of a key may hold dots of its own: tags.mlflow.source.name.
  Token word(bool after_dot) {
    Token token{Token::Kind::word, {}, at_};
    while (at_ < text_.size() && (is_word(text_[at_]) || (after_dot && text_[at_] == '.')))
      token.text += text_[at_++];
    return token;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<std::vector<Token>> tokenize_filter(std::string_view text) {
  return Tokenizer(text).all();
}

Error filter_error(std::string_view text, std::size_t at, std::string message) {
  std::size_t character = 1;
  for (const char c : text.substr(0, at)) character += (static_cast<unsigned char>(c) >> 6U) != 2 ? 1 : 0;
  return Error{std::move(message), fmt::format("filter, character {}", character),
               "Example: metrics.loss < 0.1 and params.lr = '0.1' and tags.`my key` LIKE 'res%' and status = "
               "'FINISHED'"};
}

}  // namespace plimsoll::store
