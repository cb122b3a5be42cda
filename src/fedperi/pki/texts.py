"""Texts that are written beside keys, for the people who receive them."""

CA_README = """\
The pilot's certificate authority (CA)

ca.key   secret. Anyone who has it can pretend to be the coordinator, to every site. It is needed only to renew the
         coordinator's certificate (fedperi keys --renew), not to add sites and not to run anything. Keep it off the
         coordinator and off the network: an encrypted stick in a safe is right. Keep a copy: without it, every site
         must be given a new ca.pem in the end.
ca.pem   public. Every site and the coordinator have a copy.

The key has no passphrase. Never send it by mail, and put it in no repository.
"""

COORDINATOR_README = """\
For the machine of the coordinator

Copy this folder there, over a channel that nobody else reads, then:

    fedperi coordinate --keys THIS_FOLDER --out results

ca.pem         public: the pilot's CA
server.pem     public: the coordinator's certificate. Renew it before it ends: fedperi keys --out FOLDER --renew
server.key     secret: anyone who has it and can redirect traffic can pretend to be the coordinator
sites/*.pub    public: the keys of the sites that may connect. To shut one out, also while the coordinator runs:
                   fedperi keys --out THIS_FOLDER --withdraw NAME

Files are readable by their owner only; leave it so.
"""

SITE_README = """\
For site {site}

1. Check that this came to you unchanged. Ask for these two lines by telephone, and compare:
     CA      {ca}
     site    {key}
   To see what you have:
     openssl x509 -noout -fingerprint -sha256 -in ca.pem
     ssh-keygen -l -f {site}.key
2. Put the folder on the machine that has the table, readable only by the account that runs fedperi:
     chmod 700 .   and   chmod 600 *
   If you want a passphrase on the key (kept in a file that only this account can read):
     fedperi keys --encrypt {site}.key --passphrase-file passphrase
3. Look first, at your own pace. This sends nothing. Add the options that were agreed on, here and in step 4: for a
   private release --epsilon and --bounds, or --channel moments for EXACT means and covariances:
     fedperi site TABLE.csv --name {site} --dry-run
4. Take part. The machine calls out to the coordinator; no port needs to be opened at your side:
     fedperi site TABLE.csv --name {site} --coordinator {reach}:9092 --ca ca.pem --key {site}.key

ca.pem        public. By it your machine knows the coordinator, and refuses any other.
{site}.key
              secret. By it the coordinator knows you, and with it you sign release files (fedperi release --key).
              Anyone who has it can answer and sign in your name; it opens nothing at your side. If it is lost or was
              seen by others, tell the coordinator, who shuts it out, and ask for a new one.
"""
