#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "network/builder.hpp"
#include "network/setting.hpp"
#include "network/zoo/arguments.hpp"

namespace plimsoll::network::zoo {

struct Size {
  // NOLINTNEXTLINE(google-explicit-constructor): `.kernel = 3` is how people write it
  constexpr Size(std::int64_t both) : height(both), width(both) {}
  constexpr Size(std::int64_t h, std::int64_t w) : height(h), width(w) {}
  std::int64_t height;
  std::int64_t width;
  friend constexpr bool operator==(const Size&, const Size&) = default;
};

/// batch x channels x height x width.
struct Image {
  TensorId id = kNoTensor;
  std::int64_t channels = 0;
  Size size = 0;
};
/// batch x width.
struct Features {
  TensorId id = kNoTensor;
  std::int64_t width = 0;
};
/// batch x tokens x width.
struct Tokens {
  TensorId id = kNoTensor;
  std::int64_t width = 0;
};

struct Convolution {
  std::int64_t out = 0;
  Size kernel = 1;
  Size stride = 1;
  Size pad = 0;
  std::int64_t groups = 1;
  Size dilation = 1;
  bool bias = false;
  std::optional<Size> pad_end = {};  ///< at the bottom and right, where it differs (TensorFlow's SAME)
};

struct Pooling {
  Size kernel;
  Size stride;
  Size pad = 0;
  bool ceil = false;      ///< the last window may hang over
  bool count_pad = true;  ///< average pooling: padding counts as zeros, PyTorch's default
  std::optional<Size> pad_end = {};
};

enum class Activation : std::uint8_t {
  none,
  relu,
  relu6,
  leaky_relu,
  silu,
  hard_swish,
  sigmoid,
  hard_sigmoid,
  gelu,
  gelu_tanh,         ///< written out, as Hugging Face's gelu_new computes it
  gelu_tanh_kernel,  ///< one kernel, PyTorch's approximate="tanh"
  quick_gelu,        ///< x sigmoid(1.702 x)
  tanh
};

/// The layers that architectures are made of, on top of Builder; it keeps count of channels and sides, so
/// that weights get their shapes. An input that is too small is remembered, and finish() gives the first such
/// error.
class Blocks {
 public:
  Blocks(std::string_view network_name, Mode mode, std::int64_t opset = 20);

  [[nodiscard]] Builder& builder() { return builder_; }
  [[nodiscard]] bool training() const { return mode_ == Mode::train; }
  [[nodiscard]] Dim batch() { return builder_.symbol("batch"); }
  [[nodiscard]] Dim sequence() { return builder_.symbol("sequence"); }
  Image image_input(std::string_view name, const ImageShape& shape);
  [[nodiscard]] Result<Network> finish() &&;
  void refuse(std::string message);  ///< the network cannot be built as asked
  /// While on, weights are listed but no operator is added: modules a model holds and does not run.
  void weights_only(bool on) { weights_only_ = on; }

  /// Any operator with one output.
  TensorId add(std::string_view type, std::string_view name, std::span<const TensorId> inputs,
               std::initializer_list<AttributeValue> attributes = {});
  TensorId add(std::string_view type, std::string_view name, std::initializer_list<TensorId> inputs,
               std::initializer_list<AttributeValue> attributes = {}) {
    return add(type, name, std::span<const TensorId>(inputs.begin(), inputs.size()), attributes);
  }
  /// An operator with several outputs, named NAME.0, NAME.1, …
  std::vector<TensorId> add_many(std::string_view type, std::string_view name,
                                 std::initializer_list<TensorId> inputs, std::size_t outputs,
                                 std::initializer_list<AttributeValue> attributes = {});
  void output(TensorId id);

  // Constants; the same contents give the same tensor.
  TensorId integers(std::span<const std::int64_t> values);
  TensorId integers(std::initializer_list<std::int64_t> values) {
    return integers(std::span(values.begin(), values.size()));
  }
  TensorId integer(std::int64_t value);  ///< of rank 0
  TensorId real(double value);           ///< of rank 0
  /// A tensor of `extents` (int64, may be computed) filled with a number.
  TensorId filled(std::string_view name, TensorId extents, double value);
  TensorId yes();  ///< a boolean

  // Images.
  Image conv(const std::string& name, Image x, const Convolution& c);
  struct Filters {
    TensorId weight = kNoTensor;
    TensorId bias = kNoTensor;
  };
  /// A convolution's weights alone, and the convolution with them: for those that share.
  Filters filters(const std::string& name, std::int64_t channels, const Convolution& c);
  Image conv(const std::string& name, Image x, const Convolution& c, const Filters& shared);
  Image batch_norm(const std::string& name, Image x, double epsilon = 1e-5);
  /// Parameters that are stored and never learned; statistics that are never updated.
  Image frozen_batch_norm(const std::string& name, Image x, double epsilon = 1e-5);
  Image max_pool(std::string_view name, Image x, const Pooling& p);
  Image average_pool(std::string_view name, Image x, const Pooling& p);
  Image global_average_pool(std::string_view name, Image x);
  Image adaptive_average_pool(std::string_view name, Image x, Size out);
  Image activate(std::string_view name, Image x, Activation activation);
  Image sum(std::string_view name, Image a, Image b);
  Image concat(std::string_view name, std::span<const Image> images);  ///< along the channels
  Image upsample(std::string_view name, Image x, Size to);             ///< nearest
  Features flatten(std::string_view name, Image x);
  /// Squeeze and excitation: x times gate(fc2(relu-like(fc1(mean(x))))), with 1x1 convolutions.
  Image squeeze_excite(const std::string& name, Image x, std::int64_t squeezed, Activation inner,
                       Activation gate);

  // Anything.
  TensorId activate(std::string_view name, TensorId x, Activation activation);
  TensorId dropout(std::string_view name, TensorId x, double ratio);  ///< x itself in inference or at ratio 0

  // Rows of features and of tokens.
  Features linear(const std::string& name, Features x, std::int64_t out, bool bias = true);
  Tokens linear(const std::string& name, Tokens x, std::int64_t out, bool bias = true);
  Tokens layer_norm(const std::string& name, Tokens x, double epsilon);
  Tokens sum(std::string_view name, Tokens a, Tokens b);

  // Attention, written out. Heads are batch x heads x tokens x size.
  struct Heads {
    std::int64_t count = 1;
    std::int64_t size = 1;
  };
  TensorId split_heads(const std::string& name, Tokens x, Heads heads);
  /// softmax(q k · scale + mask) v, as exporters write scaled_dot_product_attention: query and key are each
  /// multiplied by the root of the scale. No mask where kNoTensor.
  TensorId attend(const std::string& name, TensorId query, TensorId key, TensorId value, Heads heads,
                  TensorId mask, double dropout_ratio);
  Tokens merge_heads(const std::string& name, TensorId x, Heads heads);
  /// sequence x sequence, 0 where a token may look and -inf ahead of it; `ids` is batch x sequence.
  TensorId causal_mask(const std::string& name, TensorId ids);
  /// The length of axis 1 of `ids`, one element.
  TensorId length_of(const std::string& name, TensorId ids);

 private:
  Image normalize(const std::string& name, Image x, double epsilon, Role role, bool learn);
  Image pool(std::string_view type, std::string_view name, Image x, const Pooling& p,
             std::span<const AttributeValue> extra);
  TensorId add_operator(std::string_view type, std::string_view name, std::span<const TensorId> inputs,
                        std::span<const AttributeValue> attributes);
  std::int64_t checked(std::string_view name, std::int64_t extent);
  TensorId gelu_tanh(const std::string& name, TensorId x);

  Builder builder_;
  Mode mode_;
  bool weights_only_ = false;
  std::optional<Error> error_;
  std::map<std::string, TensorId, std::less<>> constants_;
};

}  // namespace plimsoll::network::zoo
