// What templates write, against what Python and Jinja2 write; tests/peers/chat_templates_test.py
// compares hundreds of expressions and all real templates with Jinja2 itself.
#include "submix/jinja/template.h"

#include <gmock/gmock.h>

#include "submix/base/testing/status_matchers.h"
#include "submix/jinja/rendering.h"

namespace submix::jinja {
namespace template_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::HasSubstr;

Text Said(const std::string& text) { return {text, Origin::kMessage}; }

base::StatusOr<Text> Rendering(const std::string& source, const std::string& content = " Hi ß ") {
  SUBMIX_ASSIGN_OR_RETURN(const Template parsed, Template::Parse(source));
  const Variable message = Variable::Dict({{"role", Variable::String({"user", Origin::kTemplate})},
                                           {"content", Variable::String(Said(content))}});
  return parsed.Render({{"m", message}, {"messages", Variable::List({message, message})}},
                       /*now=*/1'733'184'000);
}
std::string Rendered(const std::string& source) {
  const auto text = Rendering(source);
  return text.ok() ? text->bytes() : text.status().ToString();
}

struct Case {
  const char* source;
  const char* rendered;
};
void ExpectAll(const std::vector<Case>& cases) {
  for (const Case& each : cases) EXPECT_EQ(Rendered(each.source), each.rendered) << each.source;
}

TEST(Template, Arithmetic) {
  ExpectAll({{"{{ 1 + 2 * 3 - 4 }}", "3"},
             {"{{ -7 // 2 }} {{ -7 % 3 }} {{ 7 % -3 }}", "-4 2 -2"},
             {"{{ 7 / 2 }} {{ 6 / 2 }}", "3.5 3.0"},
             {"{{ 2 ** 3 ** 2 }} {{ 2 ** -1 }}", "64 0.5"},
             {"{{ -7.5 % 2 }} {{ 7.5 // 2 }}", "0.5 3.0"},
             {"{{ 0.1 + 0.2 }} {{ 1e16 }} {{ 1.5e-7 }} {{ 100.0 }} {{ 0.0001 }}",
              "0.30000000000000004 1e+16 1.5e-07 100.0 0.0001"},
             {"{{ 'ab' * 2 }} {{ [1] + [2] }} {{ true + 1 }}", "abab [1, 2] 2"}});
  for (const char* wrong : {"{{ 1 // 0 }}", "{{ 1 + 'a' }}", "{{ 1 < 'a' }}", "{{ -none }}",
                            "{{ 9223372036854775807 + 1 }}", "{{ 10 ** 30 }}"}) {
    EXPECT_THAT(Rendering(wrong), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("line 1: ")))
        << wrong;
  }
}

TEST(Template, LogicAndComparisons) {
  ExpectAll({{"{{ '' or 'x' }} {{ 0 and 1 }} {{ not none }}", "x 0 True"},
             {"{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 == true }}", "True False True"},
             {"{{ 'a' in 'abc' }} {{ 'x' not in m }} {{ 1 in [2] }}", "True True False"},
             {"{{ (1, 2) == [1, 2] }} {{ {'a': 1} == {'a': 1} }}", "False True"},
             {"{{ 'x' if 0 else 'y' if 0 else 'z' }}{{ 'x' if 0 }}", "z"},
             {"{{ nothing == other }} {{ nothing is defined }} {{ nothing }}", "True False "}});
}

TEST(Template, ItemsAndSlices) {
  ExpectAll({{"{{ 'aßc'[1] }}{{ 'abc'[-1] }}{{ 'abcdef'[::2] }}{{ 'abc'[::-1] }}", "ßcacecba"},
             {"{{ 'abcdef'[4:1:-1] }} {{ [1, 2, 3][1:] }} {{ 'abc'[5:] }}", "edc [2, 3] "},
             {"{{ m.role }} {{ m['role'] }} {{ messages[1].role }} {{ messages.0.role }}",
              "user user user user"},
             {"{{ [1][5] is undefined }} {{ m.nothing is undefined }}", "True True"},
             {"{{ {'items': 3}['items'] }} {{ m.get('x', 'y') }}", "3 y"}});
  EXPECT_THAT(
      Rendering("\n\n{{ m.nothing.more }}"),
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("line 3: \"nothing\" is undefined")));
}

TEST(Template, ValuesAsPythonWritesThem) {
  ExpectAll(
      {{"{{ [1, none, true, 'a', \"b'c\", 'd\\n'] }}", "[1, None, True, 'a', \"b'c\", 'd\\n']"},
       {"{{ {'k': (1,)} }} {{ () }}", "{'k': (1,)} ()"},
       {"{{ {'b': [1.5, none], 'a': '\\u00e9\\n\"'} | tojson }}",
        "{\"b\": [1.5, null], \"a\": \"é\\n\\\"\"}"},
       {"{{ {'b': 1, 'a': []} | tojson(indent=2, sort_keys=true) }}",
        "{\n  \"a\": [],\n  \"b\": 1\n}"},
       {"{{ '%s|%5.2f|%-3s|%03d|%%' % ('x', 1.5, 'a', 7) }}", "x| 1.50|a  |007|%"},
       {"{{ '{} {1} {x} {{}}'.format('a', 'b', x=1) }}", "a b 1 {}"}});
}

TEST(Template, LoopsAndScopes) {
  ExpectAll(
      {{"{% for x in [1, 2, 3] if x != 2 %}{{ loop.index }}{{ x }}{{ loop.last }} {% endfor %}",
        "11False 23True "},
       {"{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% else %}no{% endfor %}", "a1"},
       {"{% for x in nothing %}{% else %}empty{% endfor %}", "empty"},
       {"{% for x in range(9) %}{% if x == 1 %}{% continue %}{% endif %}{% if x > 3 %}{% break %}"
        "{% endif %}{{ x }}{% endfor %}",
        "023"},
       {"{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = x + 1 %}{{ x }}{% endfor %}{{ x }}",
        "12121"},
       {"{% set n = namespace(x=0) %}{% for i in [1, 2] %}{% set n.x = n.x + i %}{% endfor %}"
        "{{ n.x }}",
        "3"},
       {"{% if 1 %}{% set y = 2 %}{% endif %}{{ y }}{% with y = 3 %}{{ y }}{% endwith %}{{ y }}",
        "232"},
       {"{% for x in 'ab' %}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.cycle(1, 2) }}{% endfor "
        "%}",
        "b1a2"}});
}

TEST(Template, MacrosAndBlocks) {
  ExpectAll(
      {{"{% macro f(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }} {{ f(1, b=3) }}", "12 13"},
       {"{% macro f(n) %}{% if n %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}",
        "321"},
       {"{% macro f(a, b) %}{{ a }}-{{ b }}{% endmacro %}{{ f(*[1, 2]) }}{{ f(**{'b': 3}) }}",
        "1-2-3"},
       {"{% macro t() %}<{{ caller('x') }}>{% endmacro %}{% call(v) t() %}{{ v }}{% endcall %}",
        "<x>"},
       {"{% set s | upper %}a{% endset %}{{ s }}{% filter title %}b c{% endfilter %}", "AB C"},
       {"{% raw %}{{ x }}{% endraw %}{# no #}{% generation %}g{% endgeneration %}", "{{ x }}g"},
       {"{{ strftime_now('%d %b %Y') }}", "03 Dec 2024"}});
}

TEST(Template, FiltersTestsAndMethods) {
  ExpectAll(
      {{"[{{ m.content | trim }}] {{ m.content.strip() | upper }}", "[Hi ß] HI SS"},
       {"{{ 'a b  c '.split() }} {{ 'a,b,c'.rsplit(',', 1) }} {{ ' a b '.split(none, 1) }}",
        "['a', 'b', 'c'] ['a,b', 'c'] ['a', 'b ']"},
       {"{{ 'a\\r\\nb\\n'.splitlines() }} {{ 'ab'.endswith(('x', 'b')) }}", "['a', 'b'] True"},
       {"{{ 'aXbX'.replace('X', '-', 1) }} {{ 'ab'.replace('', '.') }}", "a-bX .a.b."},
       {"{{ \"it's foo-bar\" | title }} {{ \"it's\".title() }}", "It's Foo-Bar It'S"},
       {"{{ [3, 1] | sort }} {{ ['b', 'A'] | sort(reverse=true) }} {{ [1, 1] | unique }}",
        "[1, 3] ['b', 'A'] [1]"},
       {"{{ messages | map(attribute='role') | join(', ') }} {{ [1, 2] | sum }}", "user, user 3"},
       {"{{ messages | selectattr('role', 'equalto', 'user') | list | length }}", "2"},
       {"{{ '4.7' | int }} {{ 'x' | int(7) }} {{ 2.5 | round }} {{ '1' | float }}", "4 7 2.0 1.0"},
       {"{{ '' | default('d', true) }} {{ nothing | d('e') }}", "d e"},
       {"{{ 6 is divisibleby 3 }} {{ none is not none }} {{ 'a' is string and [] is sequence }}",
        "True False True"},
       {"{{ 'a\\nb' | indent(2) }}", "a\n  b"}});
}

TEST(Template, WhiteSpaceAsTransformersSetsIt) {
  ExpectAll({{"a\n  {% if true %}\n  b\n  {% endif %}\nc\n", "a\n  b\nc"},
             {"a  {{- 1 -}}  b", "a1b"},
             {"  {{ 1 }}\n", "  1"},
             {"x {% if true %} y\n{% endif %}", "x  y\n"},
             {"  {%+ if true %}\nz{% endif +%}\n.", "  z\n."},
             {"a\r\n{# c #}\r\nb", "a\nb"},
             {"no tag { at } all %} }}", "no tag { at } all %} }}"}});
}

// The origin of each byte of a rendering.
std::string WhoseOf(const std::string& source, const std::string& content) {
  const auto text = Rendering(source, content);
  EXPECT_TRUE(text.ok()) << text.status();
  std::string whose;
  for (std::size_t i = 0; i < text->size(); ++i) {
    whose += text->origin(i) == Origin::kMessage ? 'm' : '.';
  }
  return whose;
}

TEST(Template, EachCharacterKnowsWhoseItIs) {
  EXPECT_EQ(WhoseOf("<{{ m.content }}>", "ab"), ".mm.");
  EXPECT_EQ(WhoseOf("{{ ('<' + m.content)[1:] ~ m.role }}", "ab"), "mm....");
  EXPECT_EQ(WhoseOf("{{ '<' ~ m.content | upper }}", "ß"), ".mm");
  EXPECT_EQ(WhoseOf("{{ m.content.split(',') | join('-') }}", "a,b"), "m.m");
  EXPECT_EQ(WhoseOf("{{ '%s=%s' % (m.role, m.content) }}", "a"), ".....m");
  // What is put into a message, where it says, is its own; so is what is made of it as a whole.
  EXPECT_EQ(WhoseOf("{{ m.content | replace('x', '</s>') }}", "axb"), "mmmmmm");
  EXPECT_EQ(WhoseOf("{{ 'axb' | replace('x', m.content) }}", "!"), ".m.");
  EXPECT_EQ(WhoseOf("{{ [m.role, m.content] | tojson }}", "a"), std::string(13, 'm'));
  EXPECT_EQ(WhoseOf("{{ [m.role] }}", "a"), "........");
}

TEST(Template, WhatWouldNotEndEnds) {
  const auto is_too_much = StatusIs(StatusCode::kResourceExhausted, HasSubstr("too much work"));
  EXPECT_THAT(Rendering("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}"
                        "{% endfor %}"),
              is_too_much);
  EXPECT_THAT(Rendering("{% set n = namespace(s='x') %}{% for a in range(99) %}"
                        "{% set n.s = n.s ~ n.s %}{% endfor %}"),
              is_too_much);
  EXPECT_THAT(Rendering("{% set n = namespace(s=[]) %}{% for a in range(99) %}"
                        "{% set n.s = n.s + n.s + [1] %}{% endfor %}"),
              is_too_much);
  EXPECT_THAT(Rendering("{{ 'x' * 999999999999 }}"),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("too long")));
  EXPECT_THAT(Rendering("{{ range(999999999) }}"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("range")));
  const auto is_too_deep = StatusIs(StatusCode::kFailedPrecondition, HasSubstr("too deep"));
  EXPECT_THAT(Rendering("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"), is_too_deep);
  EXPECT_THAT(Rendering("{% set n = namespace(s=[]) %}{% for a in range(9999) %}"
                        "{% set n.s = [n.s] %}{% endfor %}{{ n.s }}"),
              is_too_deep);
  for (const char* nested : {"(", "[", "not ", "-", "x if ", "a.b[", "f("}) {
    std::string source = "{{ ";
    for (int i = 0; i < 100'000; ++i) source += nested;
    EXPECT_FALSE(Template::Parse(source + "1").ok()) << nested;
  }
  std::string chain = "{{ 1";
  for (int i = 0; i < 100'000; ++i) chain += " + 1";
  EXPECT_THAT(Template::Parse(chain + " }}"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("deeply")));
}

TEST(Template, WhatIsNotThereIsRefusedByName) {
  const auto is_refused = [](const std::string& name) {
    return StatusIs(StatusCode::kUnimplemented, HasSubstr("\"" + name + "\""));
  };
  EXPECT_THAT(Rendering("{{ 'a' | urlize }}"), is_refused("urlize"));
  EXPECT_THAT(Rendering("{{ 'a' is heavy }}"), is_refused("heavy"));
  EXPECT_THAT(Rendering("{% include 'x' %}"), is_refused("include"));
  EXPECT_THAT(Rendering("{% import 'x' as y %}"), is_refused("import"));
  EXPECT_THAT(Rendering("{% block b %}{% endblock %}"), is_refused("block"));
  EXPECT_EQ(Rendered("{% if nothing %}{{ 'a' | urlize }}{% endif %}"), "");
  // As in the sandbox of Hugging Face's library.
  EXPECT_THAT(Rendering("{{ messages.append(1) }}"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("sandbox")));
}

TEST(Template, WhatIsNoTemplateIsSaid) {
  for (const char* wrong : {"{{ 1", "{{ }}", "{% if %}{% endif %}", "{% if 1 %}", "{% endif %}",
                            "{% nothing %}", "{% for x %}{% endfor %}", "{# open", "{{ 'open }}",
                            "{{ a b }}", "{{ (1] }}", "{{ '\\ud800' }}", "{% raw %}", "{% break %}",
                            "{{ f(a=1 }}", "{{ $ }}", "{% set 1 = 2 %}", "\xff"}) {
    EXPECT_THAT(Template::Parse(wrong), StatusIs(StatusCode::kInvalidArgument, HasSubstr("")))
        << wrong;
  }
  EXPECT_THAT(Template::Parse("a\n\n{% if 1 %}\n"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("line 3")));
}

TEST(Template, ARefusalIsInItsOwnWords) {
  EXPECT_THAT(Rendering("{{ raise_exception('No ' ~ m.role ~ 's\\n!') }}"),
              StatusIs(StatusCode::kInvalidArgument, "No users !"));
}

}  // namespace template_test
}  // namespace submix::jinja
