//! TLS with the system's roots or given ones.

use std::fmt;
use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::blocking;
use super::error::{ErrorKind, RemoteError};
use super::options::{OptionError, TlsOptions};

/// TLS options whose certificates and names were found readable.
pub(super) struct Settings {
    provider: Arc<CryptoProvider>,
    roots: Roots,
    identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    servername: Option<ServerName<'static>>,
    /// Built once: reading the system's roots takes milliseconds.
    config: OnceLock<Arc<ClientConfig>>,
}

enum Roots {
    System,
    Given(RootCertStore),
    /// Every certificate is accepted.
    Unchecked,
}

impl Settings {
    pub fn new(options: TlsOptions) -> Result<Self, OptionError> {
        let roots = match (options.reject_unauthorized, options.ca) {
            (false, _) => Roots::Unchecked,
            (true, None) => Roots::System,
            (true, Some(pem)) => Roots::Given(read_roots(&pem)?),
        };
        let identity = match (options.cert, options.key) {
            (None, None) => None,
            (Some(cert), Some(key)) => {
                let chain = read_certificates("tls.cert", &cert)?;
                let key = PrivateKeyDer::from_pem_slice(key.expose().as_bytes())
                    .map_err(|_| OptionError::new("tls.key", "is not a PEM private key"))?;
                Some((chain, key))
            }
            (Some(_), None) => {
                return Err(OptionError::new("tls.key", "is missing beside tls.cert"));
            }
            (None, Some(_)) => {
                return Err(OptionError::new("tls.cert", "is missing beside tls.key"));
            }
        };
        let servername = options
            .servername
            .map(ServerName::try_from)
            .transpose()
            .map_err(|_| OptionError::new("tls.servername", "is not a host name"))?;
        let settings = Self {
            provider: Arc::new(ring::default_provider()),
            roots,
            identity,
            servername,
            config: OnceLock::new(),
        };
        // A key that does not fit its certificate shows when the configuration is built.
        settings
            .build(&RootCertStore::empty())
            .map_err(|error| OptionError::new("tls", error.message))?;
        Ok(settings)
    }

    /// Shakes hands over a connected socket.
    pub async fn connect(&self, host: &str, socket: TcpStream) -> Result<TlsStream<TcpStream>, RemoteError> {
        let config = self.config().await?;
        let name = match &self.servername {
            Some(name) => name.clone(),
            None => ServerName::try_from(host.to_owned())
                .map_err(|_| failed("the host is not a name a certificate can have"))?,
        };
        TlsConnector::from(config).connect(name, socket).await.map_err(|error| {
            let reason = error
                .get_ref()
                .and_then(|inner| inner.downcast_ref::<rustls::Error>())
                .map_or_else(|| error.kind().to_string(), describe);
            RemoteError::new(ErrorKind::Tls, format!("the TLS handshake failed: {reason}"))
        })
    }

    async fn config(&self) -> Result<Arc<ClientConfig>, RemoteError> {
        if let Some(config) = self.config.get() {
            return Ok(Arc::clone(config));
        }
        let config = Arc::new(match &self.roots {
            Roots::System => {
                let loaded = blocking::spawn("dialcache-roots", load_system_roots).await;
                let roots = loaded
                    .ok()
                    .filter(|roots| !roots.is_empty())
                    .ok_or_else(|| failed("the system has no root certificates"))?;
                self.build(&roots)?
            }
            Roots::Given(roots) => self.build(roots)?,
            Roots::Unchecked => self.build(&RootCertStore::empty())?,
        });
        Ok(Arc::clone(self.config.get_or_init(|| config)))
    }

    fn build(&self, roots: &RootCertStore) -> Result<ClientConfig, RemoteError> {
        let builder = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()
            .map_err(|_| failed("no protocol version is available"))?;
        let builder = if matches!(self.roots, Roots::Unchecked) {
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Unchecked(Arc::clone(&self.provider))))
        } else {
            builder.with_root_certificates(roots.clone())
        };
        match &self.identity {
            None => Ok(builder.with_no_client_auth()),
            Some((chain, key)) => builder
                .with_client_auth_cert(chain.clone(), key.clone_key())
                .map_err(|_| failed("tls.key does not belong to tls.cert")),
        }
    }
}

fn failed(message: &'static str) -> RemoteError {
    RemoteError::fixed(ErrorKind::Tls, message)
}

/// Certificate errors say what is wrong in their variant; others may quote the peer's bytes.
fn describe(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(reason) => format!("invalid certificate: {reason}"),
        rustls::Error::AlertReceived(alert) => format!("the server refused it: {alert:?}"),
        rustls::Error::InvalidMessage(_) => String::from("the server does not speak TLS"),
        _ => String::from("protocol error"),
    }
}

fn load_system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    // A system store may hold certificates that cannot be read; the others still serve.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn read_roots(pem: &[u8]) -> Result<RootCertStore, OptionError> {
    let mut roots = RootCertStore::empty();
    for certificate in read_certificates("tls.ca", pem)? {
        roots
            .add(certificate)
            .map_err(|_| OptionError::new("tls.ca", "holds a certificate that cannot be a root"))?;
    }
    Ok(roots)
}

fn read_certificates(option: &'static str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, OptionError> {
    let certificates = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| OptionError::new(option, "is not PEM"))?;
    if certificates.is_empty() {
        return Err(OptionError::new(option, "holds no PEM certificate"));
    }
    Ok(certificates)
}

/// Accepts every certificate, as `rejectUnauthorized: false` asks. Signatures are checked still, so
/// the peer does own the certificate it shows.
struct Unchecked(Arc<CryptoProvider>);

impl fmt::Debug for Unchecked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unchecked")
    }
}

impl ServerCertVerifier for Unchecked {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
