#include "polykern/net/exported_model.h"

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

#include <openssl/evp.h>

#include "polykern/core/error.h"
#include "polykern/io/checksum.h"
#include "polykern/io/files.h"
#include "polykern/net/parse_message.h"
#include "polykern/v1/exported_model.pb.h"

namespace polykern {
namespace {

// A file is this, the SHA-256 of the message, and the message.
constexpr std::string_view kMagic = "polykern model\n";
constexpr std::size_t kSumSize = 32;
constexpr std::uint32_t kModelFormat = 1;
constexpr std::size_t kMostInText = std::size_t{1} << 29;

std::string ModelSum(std::string_view bytes) {
  const auto sum = Sha256(std::as_bytes(std::span(bytes)));
  return {reinterpret_cast<const char*>(sum.data()), sum.size()};
}

[[noreturn]] void RefuseModel() {
  throw Error("a damaged model; export it again with `polykern store export`");
}

ModelChange ReadModelChange(const std::string& bytes) {
  ServerMessage message = DecodeServerMessage(bytes);
  auto* const change = std::get_if<ModelChange>(&message);
  if (change == nullptr) RefuseModel();
  return std::move(*change);
}

}  // namespace

std::string EncodeExport(const ExportedModel& model) {
  v1::ExportedModel message;
  message.set_format(kModelFormat);
  for (const auto& [name, value] : model.configuration) {
    v1::Setting& setting = *message.add_configuration();
    setting.set_name(name);
    setting.set_value(value);
  }
  message.set_model(Encode(model.model));
  message.mutable_weights()->Add(model.weights.begin(), model.weights.end());
  const std::string bytes = message.SerializeAsString();
  return std::string(kMagic) + ModelSum(bytes) + bytes;
}

ExportedModel DecodeExport(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) {
    throw Error("not a model of polykern; `polykern store export` makes one");
  }
  bytes.remove_prefix(kMagic.size());
  if (bytes.size() < kSumSize || bytes.substr(0, kSumSize) != ModelSum(bytes.substr(kSumSize))) {
    RefuseModel();
  }
  const auto message = Parse<v1::ExportedModel>(bytes.substr(kSumSize));
  if (message.format() > kModelFormat) {
    throw Error("a model of a newer version of polykern; update this one");
  }
  ExportedModel model;
  for (const v1::Setting& setting : message.configuration()) {
    model.configuration.emplace(setting.name(), setting.value());
  }
  model.model = ReadModelChange(message.model());
  model.weights.assign(message.weights().begin(), message.weights().end());
  return model;
}

std::string ExportToText(const ExportedModel& model) {
  const std::string bytes = EncodeExport(model);
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // with a NUL at its end
  if (bytes.size() > kMostInText) throw Error("the model is too large for a configuration");
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  text.pop_back();
  return text;
}

ExportedModel ExportFromText(std::string_view text) {
  std::string bytes(3 * (text.size() / 4), '\0');
  if (text.size() > 2 * kMostInText || text.size() % 4 != 0 ||
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(text.data()),
                      static_cast<int>(text.size())) != static_cast<int>(bytes.size())) {
    RefuseModel();
  }
  const std::size_t padding = text.size() - std::min(text.find_last_not_of('=') + 1, text.size());
  if (padding > 2) RefuseModel();
  bytes.resize(bytes.size() - padding);
  return DecodeExport(bytes);
}

ExportedModel ReadExport(const std::string& path) {
  const std::string bytes = ReadWholeFile(path);
  try {
    return DecodeExport(bytes);
  } catch (const Error& error) {
    throw Error(path + ": " + error.marked());
  }
}

}  // namespace polykern
