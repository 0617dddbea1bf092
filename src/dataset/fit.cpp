#include "dataset/fit.hpp"

#include <algorithm>

namespace plimsoll::dataset {
namespace {

using network::DataType;
using network::TensorId;

std::unexpected<Error> refuse(std::string message, std::string hint = {}) {
  return std::unexpected(Error{std::move(message), {}, std::move(hint)});
}

/// Exact extents, or nothing.
std::optional<std::vector<std::int64_t>> exact_dims(const network::Shapes& shapes, TensorId id) {
  if (!shapes.ranked(id)) return std::nullopt;
  std::vector<std::int64_t> dims;
  for (const network::Dim dim : shapes.dims(id)) {
    if (!dim.exact()) return std::nullopt;
    dims.push_back(dim.value());
  }
  return dims;
}

/// An input of another form, and what can be done about it.
std::unexpected<Error> other_form(std::span<const std::int64_t> wanted, std::span<const std::int64_t> given) {
  std::string hint;
  if (wanted.size() == 3 && given.size() == 3) {
    if (wanted[0] != given[0] && (wanted[0] == 1 || wanted[0] == 3))
      hint = fmt::format("--channels {} makes them so; a network of the zoo takes NAME:channels={}.",
                         wanted[0], given[0]);
    else
      hint = fmt::format("--image-size {}x{} scales them; a network of the zoo takes NAME:input={}.",
                         wanted[1], wanted[2], shape_text(given));
  }
  return refuse(fmt::format("the network takes examples of {}, the data holds {}", shape_text(wanted),
                            shape_text(given)),
                std::move(hint));
}

Status check_classes(const Dataset& data, std::span<const std::int64_t> output) {
  const auto classes = data.classes();
  if (!classes)
    return refuse("cross-entropy needs classes, but the labels are numbers",
                  "--loss mean-square comes near to numbers.");
  if (output.size() < 2) return refuse("the network's output has no classes to choose from");
  if (output.size() > 2)
    return refuse(fmt::format("the network answers {} for each example, where labels are one class each",
                              shape_text(output.subspan(1))));
  if (*classes > output[1])
    return refuse(
        fmt::format("the data has {} classes, the network's head tells {} apart", *classes, output[1]),
        fmt::format("Give it a head of {}: of a network of the zoo, NAME:classes={}.", *classes, *classes));
  return {};
}

Status check_numbers(const Dataset& data, std::span<const std::int64_t> output) {
  const Rows& labels = data.training().labels;
  if (labels.type != DataType::float32)
    return refuse("mean-square needs numbers to come near to, but the labels are classes",
                  "--loss cross-entropy learns classes.");
  const std::span<const std::int64_t> one = output.empty() ? output : output.subspan(1);
  if (!std::ranges::equal(labels.dims, one))
    return refuse(fmt::format("the network answers {} for each example, the labels are {}", shape_text(one),
                              shape_text(labels.dims)));
  return {};
}

}  // namespace

Result<Ends> check_fit(const network::Network& network, const network::Shapes& shapes, const Dataset& data,
                       network::Loss loss, std::int64_t examples) {
  Ends ends;
  int inputs = 0;
  for (const TensorId id : network.main().inputs)
    if (network.tensor(id).role == network::Role::input) {
      ends.input = id;
      ++inputs;
    }
  if (inputs != 1)
    return refuse(fmt::format("training takes networks of one input; this one has {}", inputs));
  if (network.main().outputs.empty()) return refuse("the network has no output to learn from");
  ends.output = network.main().outputs.front();
  const auto input = exact_dims(shapes, ends.input);
  if (!input || input->empty())
    return refuse("the shape of the network's input is not known", "--input and --dim say what it is to be.");
  ends.batch = input->front();
  const Rows& rows = data.training().inputs;
  const bool whole = rows.type == DataType::int64;
  if (whole == network::is_float(shapes.type(ends.input)))
    return refuse(fmt::format("the network takes {}, the data holds {}",
                              network::name(shapes.type(ends.input)), network::name(rows.type)));
  if (!std::ranges::equal(rows.dims, std::span(*input).subspan(1)))
    return other_form(std::span(*input).subspan(1), rows.dims);
  if (ends.batch < 1 || examples < ends.batch)
    return refuse(fmt::format("{} examples to learn from are fewer than a batch of {}", examples, ends.batch),
                  "--batch N asks for less.");
  const auto output = exact_dims(shapes, ends.output);
  if (!output) return ends;  // found when it runs
  if (loss == network::Loss::cross_entropy) PLIMSOLL_TRY(check_classes(data, *output));
  if (loss == network::Loss::mean_square) PLIMSOLL_TRY(check_numbers(data, *output));
  return ends;
}

}  // namespace plimsoll::dataset
