// Reads and writes computation graphs in the DOT language.
//
// The parser is our own and not Graphviz's libcgraph: that one reports errors through one handler
// of the whole process, keeps the parser's state in global variables, so that two threads cannot
// read at the same time, has no limit of its own for what a file may make it allocate, and Kiln
// needs only nodes, edges and attributes.

#include "kiln/targets/cgra/graph/dot_file.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kiln/support/budgets.h"
#include "kiln/support/characters.h"
#include "kiln/support/excerpt.h"
#include "kiln/support/nearest_name.h"
#include "kiln/targets/cgra/graph/file_graph.h"

namespace kiln::cgra {
namespace {

constexpr std::string_view kDotKinds[] = {"data", "pred", "order"};  // in the order of EdgeKind

// An attribute of Graphviz whose name is almost one of Kiln's.
constexpr std::string_view kDrawnLabel = "xlabel";
// The attributes that mean something; all others are for drawing.
constexpr std::string_view kDotKeys[] = {"op",      "opcode", "type",     "const", "int",  "value",
                                         "operand", "dist",   "distance", "init",  "kind", "label"};
// Every node and edge has a copy of the attributes that a graph states for all of them.
constexpr int64_t kMostValue = 4096;  // bytes

using Attributes = std::map<std::string, std::string, std::less<>>;

struct DotToken {
  enum Kind { kEnd, kWord, kQuoted, kArrow, kLine, kSign };
  Kind kind = kEnd;
  std::string text;  // of kSign: one of {}[];,:=+
  int line = 1;

  bool IsName() const { return kind == kWord || kind == kQuoted; }
  bool Is(char sign) const { return kind == kSign && text[0] == sign; }
  bool IsKeyword(std::string_view word) const {
    return kind == kWord && absl::AsciiStrToLower(text) == word;
  }
};

// Cuts DOT text into tokens.
class DotTokenizer {
 public:
  DotTokenizer(std::string_view text, std::string_view source) : text_(text), source_(source) {}

  StatusOr<DotToken> Next() {
    KILN_RETURN_IF_ERROR(SkipSpace());
    DotToken token;
    token.line = line_;
    if (at_ >= text_.size()) return token;
    const char c = text_[at_];
    if (c == '"') return Quoted();
    if (c == '<') return Html();
    if (IsWordCharacter(c) || c == '.' || (c == '-' && IsNumberAt(at_ + 1))) return Word();
    if (c == '-' && at_ + 1 < text_.size() && (text_[at_ + 1] == '>' || text_[at_ + 1] == '-')) {
      token.kind = text_[at_ + 1] == '>' ? DotToken::kArrow : DotToken::kLine;
      token.text = text_.substr(at_, 2);
      at_ += 2;
      return token;
    }
    if (std::string_view("{}[];,:=+").find(c) == std::string_view::npos) {
      return Fail(fmt::format("{} does not belong here", QuotedExcerpt(text_.substr(at_, 1))),
                  "a name, an arrow or a bracket");
    }
    token.kind = DotToken::kSign;
    token.text = c;
    ++at_;
    return token;
  }

 private:
  static bool IsWordCharacter(char c) {
    return IsNameCharacter(c) || static_cast<unsigned char>(c) >= 0x80;
  }
  bool IsNumberAt(size_t at) const {
    return at < text_.size() && (IsDigit(text_[at]) || text_[at] == '.');
  }

  Status Fail(std::string_view fault, std::string_view remedy) const {
    return ErrorAt(source_, fmt::format("line {}", line_), fault, remedy);
  }

  // Skips white space and comments: // and # to the end of the line, /* to */.
  Status SkipSpace() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (rest[0] == '\n') {
        ++line_;
        ++at_;
      } else if (absl::ascii_isspace(static_cast<unsigned char>(rest[0]))) {
        ++at_;
      } else if (rest[0] == '#' || rest.starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (rest.starts_with("/*")) {
        const size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) return Fail("a comment has no end", "*/");
        line_ += static_cast<int>(std::ranges::count(text_.substr(at_, end - at_), '\n'));
        at_ = end + 2;
      } else {
        break;
      }
    }
    return OkStatus();
  }

  DotToken Word() {
    DotToken token{DotToken::kWord, "", line_};
    const size_t begin = at_++;
    const bool number = !IsLetter(text_[begin]) && text_[begin] != '_';
    while (at_ < text_.size() && (IsWordCharacter(text_[at_]) || (number && text_[at_] == '.'))) {
      ++at_;
    }
    token.text = text_.substr(begin, at_ - begin);
    return token;
  }

  // In quoted text, \" and \\ are the second of the two characters, and a backslash at the end of a
  // line continues the text in the next.
  StatusOr<DotToken> Quoted() {
    DotToken token{DotToken::kQuoted, "", line_};
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return token;
      }
      if (c == '\n') ++line_;
      const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : ' ';
      if (c == '\\' && (next == '"' || next == '\\' || next == '\n')) {
        ++at_;
        if (next == '\n') {
          ++line_;
        } else {
          token.text += next;
        }
      } else {
        token.text += c;
      }
    }
    line_ = token.line;
    return Fail("quoted text has no end", "\"");
  }

  StatusOr<DotToken> Html() {
    DotToken token{DotToken::kQuoted, "", line_};
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (c == '<') ++depth;
      if (c == '>' && --depth == 0) {
        ++at_;
        return token;  // what it says only matters for drawing
      }
    }
    line_ = token.line;
    return Fail("text in angle brackets has no end", ">");
  }

  const std::string_view text_;
  const std::string source_;
  size_t at_ = 0;
  int line_ = 1;
};

// Parses statements; a statement is read to its end before the next, and subgraphs are a stack, so
// that no text makes the parser recurse.
class DotParser {
 public:
  DotParser(std::string_view text, std::string_view source)
      : tokens_(text, source), source_(source) {}

  StatusOr<FileGraph> Parse() {
    KILN_RETURN_IF_ERROR(Advance());
    if (token_.IsKeyword("strict")) KILN_RETURN_IF_ERROR(Advance());
    if (token_.IsKeyword("graph")) return Fail("the graph is undirected", "a digraph");
    if (!token_.IsKeyword("digraph")) return Fail("the file is no graph", "digraph NAME { ... }");
    KILN_RETURN_IF_ERROR(Advance());
    file_.source = source_;
    if (token_.IsName()) {
      file_.name = token_.text;
      KILN_RETURN_IF_ERROR(Advance());
    }
    if (!token_.Is('{')) return Fail(Seen() + " does not belong here", "{ after the graph's name");
    KILN_RETURN_IF_ERROR(Advance());
    scopes_.emplace_back();
    while (!scopes_.empty()) KILN_RETURN_IF_ERROR(Statement());
    if (token_.kind != DotToken::kEnd) {
      return Fail(Seen() + " follows the graph", "one graph in a file");
    }
    KILN_RETURN_IF_ERROR(Finish());
    return std::move(file_);
  }

 private:
  struct DotNode {
    std::string name;
    int line = 1;
    Attributes attributes;
  };
  struct Scope {  // of a graph or subgraph: attributes of all nodes and edges in it
    Attributes node, edge;
  };

  Status Advance() {
    KILN_ASSIGN_OR_RETURN(token_, tokens_.Next());
    return OkStatus();
  }

  std::string Seen() const {
    return token_.kind == DotToken::kEnd ? "the end of the file" : QuotedExcerpt(token_.text);
  }
  Status Fail(std::string_view fault, std::string_view remedy) const {
    return ErrorAt(source_, fmt::format("line {}", token_.line), fault, remedy);
  }

  Status Statement() {
    if (token_.Is(';')) return Advance();
    if (token_.Is('}')) {
      scopes_.pop_back();
      KILN_RETURN_IF_ERROR(Advance());
      if (token_.kind == DotToken::kArrow) {
        return Fail("an edge leaves a subgraph", "edges between nodes");
      }
      return OkStatus();
    }
    if (token_.IsKeyword("subgraph") || token_.Is('{')) return OpenSubgraph();
    for (const std::string_view kind : {"graph", "node", "edge"}) {
      if (token_.IsKeyword(kind)) return Defaults(kind);
    }
    if (!token_.IsName()) return Fail(Seen() + " does not belong here", "a node or an edge");
    return NodeOrEdge();
  }

  Status OpenSubgraph() {
    if (token_.IsKeyword("subgraph")) {
      KILN_RETURN_IF_ERROR(Advance());
      if (token_.IsName()) KILN_RETURN_IF_ERROR(Advance());
    }
    if (!token_.Is('{')) return Fail(Seen() + " does not belong here", "{ after 'subgraph'");
    scopes_.push_back(Scope(scopes_.back()));
    if (std::ssize(scopes_) > kMostScopes) {
      return Fail("subgraphs are nested too deeply", fmt::format("at most {}", kMostScopes));
    }
    return Advance();
  }

  Status Defaults(std::string_view kind) {
    KILN_RETURN_IF_ERROR(Advance());
    if (!token_.Is('[')) {
      return Fail(Seen() + " does not belong here", fmt::format("[ after '{}'", kind));
    }
    Attributes ignored;
    Scope& scope = scopes_.back();
    return ReadAttributes(kind == "node" ? &scope.node : kind == "edge" ? &scope.edge : &ignored);
  }

  // Reads lists of attributes in brackets, if any follow, into `attributes`.
  Status ReadAttributes(Attributes* attributes) {
    while (token_.Is('[')) {
      KILN_RETURN_IF_ERROR(Advance());
      while (!token_.Is(']')) {
        if (token_.Is(',') || token_.Is(';')) {
          KILN_RETURN_IF_ERROR(Advance());
          continue;
        }
        if (!token_.IsName()) {
          return Fail(Seen() + " does not belong here", "an attribute, or ] at the end");
        }
        const std::string key = absl::AsciiStrToLower(token_.text);
        KILN_RETURN_IF_ERROR(Advance());
        std::string value = "true";
        if (token_.Is('=')) {
          KILN_RETURN_IF_ERROR(Advance());
          KILN_ASSIGN_OR_RETURN(value, Text());
        }
        if (std::ranges::find(kDotKeys, key) == std::end(kDotKeys)) {
          KILN_RETURN_IF_ERROR(CheckForeign(key));
          continue;
        }
        if (std::ssize(value) > kMostValue) {
          return Fail(fmt::format("the value of '{}' has {} bytes", key, value.size()),
                      fmt::format("at most {}", kMostValue));
        }
        (*attributes)[key] = std::move(value);
      }
      KILN_RETURN_IF_ERROR(Advance());
    }
    return OkStatus();
  }

  // Refuses what is probably a misspelt attribute. Others belong to the drawing or to other tools.
  Status CheckForeign(const std::string& key) {
    if (foreign_.contains(key)) return OkStatus();
    const std::vector<std::string> known(std::begin(kDotKeys), std::end(kDotKeys));
    const std::string meant = key == kDrawnLabel ? "" : NearestName(key, known);
    if (meant.empty()) {
      foreign_.insert(key);
      return OkStatus();
    }
    return Fail(fmt::format("{} is no attribute", QuotedExcerpt(key)),
                fmt::format("did you mean '{}'?", meant));
  }

  // Reads a name or a value: a word, or quoted texts joined by plus signs.
  StatusOr<std::string> Text() {
    if (!token_.IsName()) return Fail(Seen() + " does not belong here", "a name or a value");
    std::string text = token_.text;
    const bool quoted = token_.kind == DotToken::kQuoted;
    KILN_RETURN_IF_ERROR(Advance());
    while (quoted && token_.Is('+')) {
      KILN_RETURN_IF_ERROR(Advance());
      if (token_.kind != DotToken::kQuoted) return Fail("quoted text must follow +", "\"");
      text += token_.text;
      KILN_RETURN_IF_ERROR(Advance());
    }
    return text;
  }

  // Reads the name of a node and its port.
  StatusOr<int> Node() {
    if (token_.IsKeyword("subgraph") || token_.Is('{')) {
      return Fail("an edge goes into a subgraph", "edges between nodes");
    }
    const int line = token_.line;
    KILN_ASSIGN_OR_RETURN(const std::string name, Text());
    return NodeNamed(name, line);
  }

  // Returns the index of the node with this name; reads its port, which only matters for drawing.
  StatusOr<int> NodeNamed(const std::string& name, int line) {
    for (int i = 0; i < 2 && token_.Is(':'); ++i) {
      KILN_RETURN_IF_ERROR(Advance());
      KILN_RETURN_IF_ERROR(Text().status());
    }
    const auto [at, added] = index_.emplace(name, static_cast<int>(nodes_.size()));
    if (added) {
      KILN_RETURN_IF_ERROR(CheckGraphBudgets(source_, std::ssize(nodes_) + 1, 0));
      nodes_.push_back({name, line, scopes_.back().node});
    }
    return at->second;
  }

  Status NodeOrEdge() {
    const int line = token_.line;
    KILN_ASSIGN_OR_RETURN(const std::string name, Text());
    if (token_.Is('=')) {  // an attribute of the graph
      KILN_RETURN_IF_ERROR(Advance());
      return Text().status();
    }
    KILN_ASSIGN_OR_RETURN(const int node, NodeNamed(name, line));
    std::vector<int> path = {node};
    while (token_.kind == DotToken::kArrow) {
      KILN_RETURN_IF_ERROR(Advance());
      KILN_ASSIGN_OR_RETURN(const int next, Node());
      path.push_back(next);
    }
    if (token_.kind == DotToken::kLine) return Fail("-- joins nodes of undirected graphs", "->");
    if (path.size() == 1) return ReadAttributes(&nodes_[static_cast<size_t>(node)].attributes);
    Attributes attributes;
    KILN_RETURN_IF_ERROR(ReadAttributes(&attributes));
    const bool has_initial = attributes.contains("init");
    attributes.insert(scopes_.back().edge.begin(), scopes_.back().edge.end());
    KILN_RETURN_IF_ERROR(
        CheckGraphBudgets(source_, 0, std::ssize(file_.edges) + std::ssize(path) - 1));
    for (size_t i = 0; i + 1 < path.size(); ++i) {
      KILN_RETURN_IF_ERROR(AddEdge(path[i], path[i + 1], attributes, line));
      initial_line_.push_back(has_initial ? line : 0);
    }
    return OkStatus();
  }

  // Returns the number that an attribute has, or nothing if it is absent.
  StatusOr<std::optional<int64_t>> Number(const Attributes& attributes, std::string_view key,
                                          int64_t least, int64_t most, int line) const {
    const auto at = attributes.find(key);
    if (at == attributes.end()) return std::nullopt;
    int64_t value = 0;
    if (!absl::SimpleAtoi(at->second, &value) || value < least || value > most) {
      return ErrorAt(source_, fmt::format("line {}", line),
                     fmt::format("{} = {}", key, QuotedExcerpt(at->second)),
                     fmt::format("an integer from {} to {}", least, most));
    }
    return value;
  }

  // Returns the bits of a constant; one with a point or an exponent is a binary32 value.
  StatusOr<std::optional<int32_t>> Bits(const Attributes& attributes, std::string_view key,
                                        int line) const {
    const auto at = attributes.find(key);
    float real = 0;
    if (at != attributes.end() && at->second.find_first_of(".eE") != std::string::npos &&
        absl::SimpleAtof(at->second, &real)) {
      if (std::isfinite(real)) return std::bit_cast<int32_t>(real);
      return ErrorAt(source_, fmt::format("line {}", line),
                     fmt::format("{} = {}", key, QuotedExcerpt(at->second)),
                     "a finite number of binary32");
    }
    KILN_ASSIGN_OR_RETURN(const std::optional<int64_t> value,
                          Number(attributes, key, std::numeric_limits<int32_t>::min(),
                                 std::numeric_limits<uint32_t>::max(), line));
    if (!value) return std::nullopt;
    return static_cast<int32_t>(static_cast<uint32_t>(*value));
  }

  Status AddEdge(int source, int target, const Attributes& attributes, int line) {
    FileEdge edge;
    edge.edge.source = source;
    edge.edge.target = target;
    if (const auto at = attributes.find("kind"); at != attributes.end()) {
      const auto* kind = std::ranges::find(kDotKinds, at->second);
      if (kind == std::end(kDotKinds)) {
        return ErrorAt(source_, fmt::format("line {}", line),
                       fmt::format("kind = {}", QuotedExcerpt(at->second)), "data, pred or order");
      }
      edge.edge.kind = static_cast<EdgeKind>(kind - std::begin(kDotKinds));
    }
    constexpr int kMostOperand = 63;
    KILN_ASSIGN_OR_RETURN(const std::optional<int64_t> operand,
                          Number(attributes, "operand", 0, kMostOperand, line));
    if (operand) edge.operand = static_cast<int>(*operand);
    const std::string_view key = attributes.contains("dist") ? "dist" : "distance";
    KILN_ASSIGN_OR_RETURN(const std::optional<int64_t> distance,
                          Number(attributes, key, 0, kMostDistance, line));
    edge.edge.distance = static_cast<int>(distance.value_or(0));
    KILN_ASSIGN_OR_RETURN(const std::optional<int32_t> initial, Bits(attributes, "init", line));
    edge.edge.initial = initial.value_or(0);
    file_.edges.push_back(edge);
    states_distance_.push_back(distance.has_value());
    return OkStatus();
  }

  // Returns the operator that the attributes or the name of a node state, or "".
  static std::string OperatorOf(const DotNode& node) {
    const auto value = [&](std::string_view key) {
      const auto at = node.attributes.find(key);
      return at == node.attributes.end() ? std::string() : at->second;
    };
    for (const std::string_view key : {"op", "opcode", "type"}) {
      if (!value(key).empty()) return value(key);
    }
    const auto letters = std::find_if_not(node.name.rbegin(), node.name.rend(), IsLetter).base();
    for (const std::string& word : {std::string(letters, node.name.end()), value("label")}) {
      if (FindOperator(absl::AsciiStrToLower(word))) return word;
    }
    return "";
  }

  Status Finish() {
    KILN_RETURN_IF_ERROR(CheckText(file_.name, 1));
    for (size_t n = 0; n < nodes_.size(); ++n) {
      const DotNode& from = nodes_[n];
      FileNode node;
      node.name = from.name;
      node.id = static_cast<int64_t>(n);
      node.op = OperatorOf(from);
      if (node.op.empty()) {
        return ErrorAt(source_, fmt::format("line {}", from.line),
                       fmt::format("node {} has no operator", QuotedExcerpt(from.name)),
                       "op=add, for example");
      }
      node.own = from.attributes.contains("op");
      for (const std::string_view key : {"const", "int", "value"}) {
        KILN_ASSIGN_OR_RETURN(const std::optional<int32_t> bits,
                              Bits(from.attributes, key, from.line));
        if (bits && !node.literal) node.literal = bits;
      }
      if (const auto at = from.attributes.find("label"); at != from.attributes.end()) {
        node.label = at->second;
      }
      KILN_RETURN_IF_ERROR(CheckText(node.name, from.line));
      KILN_RETURN_IF_ERROR(CheckText(node.label, from.line));
      file_.nodes.push_back(std::move(node));
    }
    CloseCycles();
    return CheckInitials();
  }

  // Names enter JSON and reports, which are UTF-8.
  Status CheckText(const std::string& text, int line) const {
    using nlohmann::json;
    const auto dump = [&](json::error_handler_t handler) {
      return json(text).dump(-1, ' ', false, handler);
    };
    if (dump(json::error_handler_t::replace) == dump(json::error_handler_t::ignore)) {
      return OkStatus();
    }
    return ErrorAt(source_, fmt::format("line {}", line), "a name or label is no UTF-8 text",
                   "UTF-8");
  }

  // Gives edges that close a cycle, and do not say so, the distance 1.
  void CloseCycles() {
    const std::vector<int> component = Components();
    for (size_t e = 0; e < file_.edges.size(); ++e) {
      GraphEdge& edge = file_.edges[e].edge;
      if (states_distance_[e]) continue;
      const auto source = static_cast<size_t>(edge.source);
      const auto target = static_cast<size_t>(edge.target);
      const bool merges = FindOperator(absl::AsciiStrToLower(file_.nodes[target].op)) == Op::kMerge;
      if (source == target || (merges && component[source] == component[target])) {
        edge.distance = 1;
      }
    }
  }

  // Only a value of an earlier thread has an initial value.
  Status CheckInitials() const {
    for (size_t e = 0; e < file_.edges.size(); ++e) {
      if (initial_line_[e] == 0 || file_.edges[e].edge.distance > 0) continue;
      return ErrorAt(source_, fmt::format("line {}", initial_line_[e]),
                     "'init': the edge has no earlier thread", "only edges with a 'dist'");
    }
    return OkStatus();
  }

  // Returns the strongly connected component of each node, by two searches (Kosaraju).
  std::vector<int> Components() const {
    const size_t count = file_.nodes.size();
    std::vector<std::vector<int>> forward(count), backward(count);
    for (const FileEdge& edge : file_.edges) {
      forward[static_cast<size_t>(edge.edge.source)].push_back(edge.edge.target);
      backward[static_cast<size_t>(edge.edge.target)].push_back(edge.edge.source);
    }
    std::vector<bool> seen(count, false);
    std::vector<int> finished;
    std::vector<std::pair<size_t, size_t>> stack;  // a node and how many of its edges were taken
    for (size_t n = 0; n < count; ++n) {
      if (!seen[n]) stack.emplace_back(n, 0);
      seen[n] = true;
      while (!stack.empty()) {
        auto& [node, taken] = stack.back();
        if (taken == forward[node].size()) {
          finished.push_back(static_cast<int>(node));
          stack.pop_back();
          continue;
        }
        const auto next = static_cast<size_t>(forward[node][taken++]);
        if (!seen[next]) stack.emplace_back(next, 0);
        seen[next] = true;
      }
    }
    std::vector<int> component(count, -1);
    for (auto root = finished.rbegin(); root != finished.rend(); ++root) {
      if (component[static_cast<size_t>(*root)] >= 0) continue;
      std::vector<int> reached = {*root};
      component[static_cast<size_t>(*root)] = *root;
      while (!reached.empty()) {
        const int node = reached.back();
        reached.pop_back();
        for (const int next : backward[static_cast<size_t>(node)]) {
          if (component[static_cast<size_t>(next)] >= 0) continue;
          component[static_cast<size_t>(next)] = *root;
          reached.push_back(next);
        }
      }
    }
    return component;
  }

  static constexpr int64_t kMostScopes = 64;

  DotTokenizer tokens_;
  const std::string source_;
  DotToken token_;
  std::vector<Scope> scopes_;
  std::vector<DotNode> nodes_;
  std::map<std::string, int> index_;   // by name: the index of the node
  std::vector<bool> states_distance_;  // by edge
  std::vector<int> initial_line_;      // by edge: the line that states its initial value, or 0 if a
                                       // default does
  std::set<std::string> foreign_;      // attributes that were found not to be Kiln's
  FileGraph file_;
};

// Returns quoted text as DotTokenizer::Quoted reads it.
std::string QuotedDot(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

StatusOr<ComputationGraph> ParseGraphDot(std::string_view text, std::string_view source) {
  if (std::ssize(text) > budgets::kComputationGraphBytes) {
    return ErrorAt(source, "", fmt::format("{} bytes are too many", text.size()),
                   fmt::format("at most {}", budgets::kComputationGraphBytes));
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  KILN_ASSIGN_OR_RETURN(FileGraph file, DotParser(text, source).Parse());
  return FinishGraph(std::move(file));
}

std::string PrintGraphDot(const ComputationGraph& graph) {
  std::string text = fmt::format("digraph {} {{\n", QuotedDot(graph.name));
  for (const GraphNode& node : graph.nodes) {
    const OperatorRow& row = RowOf(node.op);
    text +=
        fmt::format("  {} [op={}, xlabel={}, shape={}", QuotedDot(node.name), row.name, row.name,
                    row.role == Role::kValue || row.role == Role::kResult ? "box" : "ellipse");
    if (node.literal) text += fmt::format(", const={}", *node.literal);
    if (!node.label.empty()) text += fmt::format(", label={}", QuotedDot(node.label));
    text += "];\n";
  }
  constexpr std::string_view kStyles[] = {"solid", "dashed", "dotted"};
  for (const GraphEdge& edge : graph.edges) {
    const auto kind = static_cast<size_t>(edge.kind);
    text += fmt::format("  {} -> {} [kind={}, style={}, dist={}",
                        QuotedDot(graph.nodes[static_cast<size_t>(edge.source)].name),
                        QuotedDot(graph.nodes[static_cast<size_t>(edge.target)].name),
                        kDotKinds[kind], kStyles[kind], edge.distance);
    if (edge.kind == EdgeKind::kData) text += fmt::format(", operand={}", edge.operand);
    if (edge.distance > 0 && edge.initial != 0) text += fmt::format(", init={}", edge.initial);
    text += "];\n";
  }
  return text + "}\n";
}

}  // namespace kiln::cgra
