#pragma once
#include <cstdint>
#include <fstream>
#include <optional>
#include <regex>
#include <string>
#include <vector>

/// The table of reference values in facts/networks.md: what public sources say of each network.
namespace plimsoll::integration {

struct Reference {
  std::string name;                        ///< "ResNet-50"
  std::optional<std::int64_t> parameters;  ///< only where the table has a whole number
  std::vector<double> gmacs;               ///< one, or one per sequence length
  std::string source;
};

inline std::vector<std::string> split(const std::string& text, const std::string& by) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  for (std::size_t at = 0; (at = text.find(by, begin)) != std::string::npos; begin = at + by.size())
    out.push_back(text.substr(begin, at - begin));
  out.push_back(text.substr(begin));
  return out;
}

inline std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

inline std::optional<std::int64_t> whole_number(const std::string& text) {
  static const std::regex kGrouped("^([0-9]{1,3}(?:,[0-9]{3})+)");
  std::smatch found;
  if (!std::regex_search(text, found, kGrouped)) return std::nullopt;
  return std::stoll(std::regex_replace(found.str(1), std::regex(","), ""));
}

inline std::optional<double> leading_number(const std::string& text) {
  static const std::regex kNumber("^[^0-9]{0,4}([0-9]+(?:\\.[0-9]+)?)");
  std::smatch found;
  if (!std::regex_search(text, found, kNumber)) return std::nullopt;
  return std::stod(found.str(1));
}

/// "ResNet-18 / 50 / 152" with its three figures becomes three rows.
inline std::vector<Reference> read_references(const std::string& path) {
  std::vector<Reference> out;
  std::ifstream in(path);
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("| Model | Input |")) inside = true;
    if (inside && !line.starts_with('|')) break;
    const std::vector<std::string> cells = split(line, "|");
    if (!inside || cells.size() < 6 || line.starts_with("|--") || line.starts_with("| Model")) continue;
    const std::vector<std::string> names = split(trimmed(cells[1]), " / ");
    const std::vector<std::string> parameters = split(trimmed(cells[3]), " / ");
    const std::vector<std::string> macs = split(trimmed(cells[4]), " / ");
    const std::string common = names[0].substr(0, names[0].find_last_of(" -") + 1);
    for (std::size_t i = 0; i < names.size(); ++i) {
      Reference row;
      row.name = i == 0 ? names[0] : common + names[i];
      if (i < parameters.size()) row.parameters = whole_number(parameters[i]);
      for (std::size_t m = 0; m < macs.size(); ++m)
        if (names.size() == 1 || m == i)
          if (const auto number = leading_number(macs[m])) row.gmacs.push_back(*number);
      row.source = trimmed(cells[5]);
      out.push_back(std::move(row));
    }
  }
  return out;
}

}  // namespace plimsoll::integration
