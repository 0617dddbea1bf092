#pragma once
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "report/table.hpp"

namespace plimsoll::report {

/// Text from anywhere as text of an HTML document, in an element or a quoted attribute.
[[nodiscard]] std::string escape_html(std::string_view text);

/// A table as an element that scrolls by itself where it is too wide; class "number" for what stands right.
[[nodiscard]] std::string table_html(const Table& table);

/// JSON within a script element: nothing in it may end the element or begin a comment.
[[nodiscard]] std::string script_json(const nlohmann::ordered_json& json);

/// A file of src/report/pages/ as it was when the program was built; empty where there is none.
[[nodiscard]] std::string_view page_part(std::string_view name);

/// From the doctype to the opened body. The page may load nothing from anywhere: styles and scripts stand in
/// it. `style` is the name of a page part; `more_style` stands after it as it is.
[[nodiscard]] std::string page_head(std::string_view title, std::string_view style,
                                    std::string_view more_style = {});

}  // namespace plimsoll::report
