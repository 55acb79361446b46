# Settings that end a health warning of a new cluster: warning, cause, source. Nothing is muted.
ceph_health:
  mon:
    - option: auth_allow_insecure_global_id_reclaim
      value: 'false'
      warning: AUTH_INSECURE_GLOBAL_ID_RECLAIM_ALLOWED
      cause: clients older than CVE-2021-20288's fix may take over another's id; a new cluster has none
      source: https://docs.ceph.com/en/pacific/security/CVE-2021-20288/
