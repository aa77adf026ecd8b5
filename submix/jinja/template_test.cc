#include "submix/jinja/template.h"

#include "submix/base/testing/status_matchers.h"

namespace submix::jinja {
namespace template_test {

std::string Rendered(const std::string& source) {
  const auto parsed = Template::Parse(source);
  if (!parsed.ok()) return parsed.status().message();
  const auto text = parsed->Render({}, 0);
  return text.ok() ? text->bytes() : text.status().message();
}

TEST(Template, Expressions) { EXPECT_EQ(Rendered("{{ 1 + 2 }}"), "3"); }

}  // namespace template_test
}  // namespace submix::jinja
