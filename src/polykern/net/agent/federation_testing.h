#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "polykern/io/folder_testing.h"
#include "polykern/net/configuration.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/rounds/rounds.h"
#include "polykern/net/server/server.h"
#include "polykern/net/store_kinds/open_store.h"

namespace polykern {

/// For tests only: a small federation with a real server on the loopback, its store and its
/// authority in a folder of their own. What is public may be changed before Start.
class TestFederation {
 public:
  TestFederation() {
    configuration.options.kernels = 4;
    configuration.options.features = 2;
    configuration.problem = {3, 100, 1};
    rounds_options.quorum = Quorum::All();
    server_options.listen = "127.0.0.1:0";
    server_options.certificates = pki();
    InitOptions init;
    init.hosts = {"127.0.0.1"};
    InitAuthority(pki(), init);
  }

  std::string pki() const { return folder.At("pki"); }

  /// A second time it has the same store and the same address.
  void Start() {
    algorithm_ = MakeAlgorithm(configuration);
    store_ = OpenStore(folder.At("store.db"), ToTexts(configuration));
    rounds_.emplace(*algorithm_, *store_, rounds_options);
    server_.emplace(server_options, algorithm_->shape(), *rounds_);
    server_options.listen = server_->address();
  }
  void Stop() {
    server_.reset();
    rounds_.reset();
    store_.reset();
  }

  std::string address() const { return server_->address(); }
  RoundsStatus status() const { return rounds_->status(); }

  const TestFolder folder;
  FederationConfiguration configuration;
  RoundsOptions rounds_options;
  ServerOptions server_options;

 private:
  std::unique_ptr<Algorithm> algorithm_;
  std::unique_ptr<Store> store_;
  std::optional<Rounds> rounds_;
  std::optional<FederationServer> server_;
};

}  // namespace polykern
