#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "network/zoo/zoo.hpp"

namespace plimsoll::network::zoo {

struct ImageShape {
  std::int64_t channels = 3;
  std::int64_t height = 0;
  std::int64_t width = 0;
  friend bool operator==(const ImageShape&, const ImageShape&) = default;
};

/// The options of a spec, checked against what the entry accepts: every number is within its bounds.
class Arguments {
 public:
  [[nodiscard]] static Result<Arguments> parse(const Entry& entry, std::string_view text);

  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  [[nodiscard]] double real(std::string_view name, double otherwise) const;
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  /// input= and channels=, or what the entry says; only for entries of images.
  [[nodiscard]] ImageShape image() const { return image_; }

 private:
  struct Value {
    std::string_view name;  // the Option's, which lives as long as the program
    std::int64_t integer = 0;
    double real = 0;
  };
  [[nodiscard]] const Value* find(std::string_view name) const;
  [[nodiscard]] Status accept(const Option& option, std::string_view text);

  std::vector<Value> values_;
  ImageShape image_;
};

// The options that many families share.
inline constexpr Option kClasses{"classes", "how many classes the head tells apart", "1000", Option::Kind::integer, 1, 1e6};
inline constexpr Option kInput{"input", "channels x height x width, or height x width", "as listed", Option::Kind::image, 1, 16384};
inline constexpr Option kChannels{"channels", "channels of the input", "3", Option::Kind::integer, 1, 4096};
inline constexpr Option kClassifierOptions[] = {kInput, kChannels, kClasses};

}  // namespace plimsoll::network::zoo
