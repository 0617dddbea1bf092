#include "onnx/roles.hpp"

#include <charconv>
#include <unordered_map>

#include <fmt/format.h>

#include "network/weights.hpp"

namespace plimsoll::onnx {
namespace {

using network::Role;
using network::Tensor;

bool is_stored(const Tensor& t) {
  return t.role == Role::parameter || t.role == Role::buffer;
}

}  // namespace

std::string list_roles(const network::Network& network) {
  network::Network guessed = network;
  network::classify_weights(guessed);
  std::string out;
  for (std::size_t i = 0; i < network.tensors.size(); ++i) {
    const Tensor& t = network.tensors[i];
    if (!is_stored(t) || guessed.tensors[i].role == t.role) continue;
    fmt::format_to(std::back_inserter(out), "{}{}:", t.role == Role::parameter ? 'p' : 'b', t.name.count);
    out += network.view(t.name);
  }
  return out;
}

Status apply_roles(std::string_view roles, network::Network& network) {
  if (roles.empty()) return {};
  std::unordered_map<std::string_view, Role> by_name;
  while (!roles.empty()) {
    const char letter = roles.front();
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(roles.data() + 1, roles.data() + roles.size(), length);
    const auto head = static_cast<std::size_t>(end - roles.data()) + 1;
    if ((letter != 'p' && letter != 'b') || error != std::errc{} || head > roles.size() || *end != ':' ||
        length > roles.size() - head)
      return fail("its metadata entry {} is damaged", kRolesKey);
    by_name.emplace(roles.substr(head, length), letter == 'p' ? Role::parameter : Role::buffer);
    roles.remove_prefix(head + length);
  }
  for (Tensor& t : network.tensors)
    if (is_stored(t))
      if (const auto found = by_name.find(network.view(t.name)); found != by_name.end())
        t.role = found->second;
  return {};
}

}  // namespace plimsoll::onnx
